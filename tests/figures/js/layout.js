// Before the hands take the page's clock: two frames, so that all is laid out.
export const layout = (
  (next) => () =>
    new Promise((done) => next(() => next(done)))
)(requestAnimationFrame.bind(globalThis));
