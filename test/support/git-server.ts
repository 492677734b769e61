import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface GitServer {
  readonly port: number;
  /** The address of a repository: of one that was made, or `hang` for one that never answers. */
  url(name: string): string;
  /** Makes a repository with one commit of these files. */
  repository(name: string, files: Readonly<Record<string, string>>, branch?: string): Promise<void>;
  /** Requests for a path so far. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** Repositories over plain HTTP on this machine. What is asked below `/hang` never gets an answer. */
export async function startGitServer(): Promise<GitServer> {
  const root = await mkdtemp(path.join(tmpdir(), 'svc-git-'));
  const asked: string[] = [];
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const target = new URL(request.url!, 'http://localhost').pathname;
    asked.push(target);
    if (target.startsWith('/hang')) return void held.add(response);
    void answer(path.join(root, path.normalize(target)), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    asked,
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    repository: async (name, files, branch = 'main') => {
      const work = path.join(root, `${name}.work`);
      for (const [file, text] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(work, file)), { recursive: true });
        await writeFile(path.join(work, file), text);
      }
      await git(work, 'init', '--quiet', `--initial-branch=${branch}`);
      await git(work, 'add', '.');
      await git(work, '-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '--quiet', '-m', 'first');
      await git(root, 'clone', '--quiet', '--bare', work, path.join(root, name));
      await git(path.join(root, name), 'update-server-info');
    },
    close: async () => {
      for (const response of held) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  await run('git', args, { cwd });
}

async function answer(file: string, response: ServerResponse): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) return void response.writeHead(404).end();
  createReadStream(file).pipe(response.writeHead(200, { 'Content-Length': found.size }));
}
