import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A real repository on disk, for tests. */
export class TestRepository {
  private constructor(
    readonly directory: string,
    private readonly home: string,
  ) {}

  static async make(directory: string): Promise<TestRepository> {
    await mkdir(directory, { recursive: true });
    const repository = new TestRepository(directory, path.dirname(directory));
    await repository.git('init', '-q', '-b', 'main');
    return repository;
  }

  /** Writes files, `-> target` for a link, and commits them; tags the commit. Answers its id. */
  async commit(files: Readonly<Record<string, string | Buffer>>, ...tags: string[]): Promise<string> {
    for (const [name, content] of Object.entries(files)) {
      const at = path.join(this.directory, name);
      await mkdir(path.dirname(at), { recursive: true });
      if (typeof content === 'string' && content.startsWith('-> ')) await symlink(content.slice(3), at);
      else await writeFile(at, content);
    }
    await this.git('add', '-A');
    await this.git('commit', '-q', '--allow-empty', '-m', 'change');
    for (const tag of tags) await this.git('tag', '-a', '-m', tag, tag);
    return this.git('rev-parse', 'HEAD');
  }

  async git(...args: string[]): Promise<string> {
    const env = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: this.home,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.org',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.org',
    };
    const { stdout } = await run('git', args, { cwd: this.directory, env });
    return stdout.trim();
  }
}
