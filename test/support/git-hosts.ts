import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gitServer } from '../../src/platform/git/testing/git-server.js';
import { TestRepository } from '../../src/platform/git/testing/repository.js';
import { sshServer } from '../../src/platform/git/testing/ssh-server.js';
import { Authority } from './authority.js';

export { gitServer, type GitServer } from '../../src/platform/git/testing/git-server.js';
export { TestRepository } from '../../src/platform/git/testing/repository.js';
export { hasSshServer, sshServer, type SshServer } from '../../src/platform/git/testing/ssh-server.js';

export interface GitHosts {
  /** What the guide calls something, and what it is here. */
  readonly places: readonly (readonly [written: string, here: string])[];
  readonly token: string;
  close(): Promise<void>;
}

/** The hosts of which `docs/how-to/private-git.md` speaks, on this machine: one that lets a key in, and one that lets a token in. */
export async function startGitHosts(folder: string, user: string): Promise<GitHosts> {
  const at = (...parts: string[]): string => path.join(folder, ...parts);
  const token = 'token-of-the-guide';
  for (const name of ['tools.git', 'site.git']) {
    const repository = await TestRepository.make(at('served/team', name));
    await repository.commit({ 'README.md': `${name}\n` });
  }
  await mkdir(at('authority'));
  const authority = await Authority.in(at('authority'));
  const { cert, key } = await authority.issue();
  const tls = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
  const web = await gitServer(at('served'), { tls, login: { username: 'svc', password: token } });
  const ssh = await sshServer(at('ssh'), { lets: path.join(user, '.svc/keys/git.pub'), root: at('served') });
  await mkdir(at('trees'));
  return {
    places: [
      ['ssh-keyscan -t ed25519 git.example.org', `ssh-keyscan -t ed25519 -p ${ssh.port} 127.0.0.1`],
      ['git.example.org', `127.0.0.1:${ssh.port}`],
      ['user = "git"', `user = "${ssh.user}"`],
      ['code.example.org/team', `${web.target}/smart/team`],
      ['code.example.org', web.target],
      ['/etc/ssl/company.pem', authority.file],
      ['/srv/trees', at('trees')],
    ],
    token,
    close: async () => {
      await web.close();
      await ssh.close();
    },
  };
}
