// JupyterLab shows the output of each cell that it runs, whatever the notebook
// says of it. A solution is folded until a reader opens it: on the page, and
// here. This is a module as webpack makes one, without webpack.
(() => {
  let notebook = null;

  const fold = (_, { cell }) => {
    const tags = cell.model.getMetadata("tags") ?? [];
    if (tags.includes("hide-cell") && cell.inputHidden) cell.outputHidden = true;
  };

  const plugin = {
    id: "attention-verified:folds",
    autoStart: true,
    activate: async () => {
      const { NotebookActions } = await notebook();
      NotebookActions.executed.connect(fold);
    },
  };

  const container = {
    // The one copy of JupyterLab's own module, which all extensions share.
    init: (shared) => {
      const [version] = Object.values(shared["@jupyterlab/notebook"]);
      notebook = async () => (await version.get())();
    },
    get: async () => () => ({ __esModule: true, default: [plugin] }),
  };
  Object.assign((globalThis["_JUPYTERLAB"] ??= {}), { "attention-verified": container });
})();
