"""The built site: in a browser, in JupyterLab, on paper, from a folder."""
