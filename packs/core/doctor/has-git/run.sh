#!/bin/sh
# 0: fine, 1: works with a restriction, 2: broken.
if ! command -v git >/dev/null 2>&1; then
  echo 'git is not on the path: rigs with a repository cannot be worked on'
  exit 2
fi
if [ -z "$(git config user.email 2>/dev/null)" ]; then
  echo 'git has no user.email: commits of agents will fail'
  exit 1
fi
git --version
