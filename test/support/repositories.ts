import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitServer, type GitServer } from '../../src/platform/git/testing/git-server.js';
import { TestRepository } from '../../src/platform/git/testing/repository.js';

export type { TestRepository } from '../../src/platform/git/testing/repository.js';

export interface Repositories extends GitServer {
  make(name: string): Promise<TestRepository>;
}

/** A server of repositories with history and tags, and with addresses that misbehave. */
export async function startRepositories(): Promise<Repositories> {
  const root = await mkdtemp(path.join(tmpdir(), 'svc-repositories-'));
  const server = await gitServer(root);
  return {
    ...server,
    make: (name) => TestRepository.make(path.join(root, name)),
    close: async () => {
      await server.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}
