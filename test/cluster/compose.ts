import { spawn, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLIENT } from '../support/cli.js';
import { consoleBlocks } from '../support/console-blocks.js';
import { freePort } from '../support/redis.js';
import { eventually } from '../support/sse.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Compose v2 where it is, docker-compose otherwise. */
const COMPOSE = spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0 ? ['docker', 'compose'] : ['docker-compose'];

/** The cluster of docker-compose.yml as a project of its own, on a port of its own. */
export class Cluster {
  private constructor(
    readonly name: string,
    readonly url: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  static async up(): Promise<Cluster> {
    const port = String(await freePort());
    const name = `svctest${process.pid}`;
    const cluster = new Cluster(name, `http://127.0.0.1:${port}`, { ...process.env, SVC_PUBLISH_PORT: port, SVC_TAG: name });
    try {
      await cluster.compose('build');
      await cluster.compose('up', '-d');
      await eventually(async () => (await cluster.status('/ready')) === 200, 300_000);
    } catch (error) {
      const logs = await cluster.compose('logs', '--tail=40').catch(() => '');
      await cluster.down();
      throw new Error(`the cluster did not come up:\n${logs}`, { cause: error });
    }
    return cluster;
  }

  compose(...args: string[]): Promise<string> {
    return run([...COMPOSE, '-p', this.name, ...args], this.env);
  }

  /**
   * Runs lines of bash in a folder as somebody types them beside the files of the cluster who has `svc`: what they say of `docker compose` is
   * for this project, by whichever Compose there is. The API is where it was published.
   */
  async typed(folder: string, commands: readonly string[]): Promise<string> {
    const shim = join(folder, '.bin');
    await mkdir(shim, { recursive: true });
    const real = (await run(['sh', '-c', 'command -v docker'], process.env)).trim();
    const script = [
      '#!/bin/sh',
      `if [ "$1" = compose ]; then shift; exec ${COMPOSE.join(' ').replace(/^docker /, `${real} `)} "$@"; fi`,
      `exec ${real} "$@"`,
    ];
    await writeFile(join(shim, 'docker'), `${script.join('\n')}\n`, { mode: 0o755 });
    await writeFile(join(shim, 'svc'), `#!/bin/sh\nexec '${process.execPath}' ${CLIENT.join(' ')} "$@"\n`, { mode: 0o755 });
    const env = {
      ...this.env,
      PATH: `${shim}:${process.env.PATH}`,
      COMPOSE_PROJECT_NAME: this.name,
      COMPOSE_FILE: `${root}docker-compose.yml`,
      SVC_API_URL: this.url,
    };
    return run(['bash', '-c', `cd '${folder}'\n${['set -e', ...commands].join('\n')}`], env);
  }

  async down(): Promise<void> {
    await this.compose('down', '-v', '--remove-orphans', '--timeout', '10');
    const images = [this.name, `${this.name}-new`].map((tag) => `supervisor-control-plane:${tag}`);
    await run(['docker', 'image', 'rm', '-f', ...images], this.env).catch(() => '');
  }

  /** Builds the image of `deploy/worker.Dockerfile` on this one, and asks each program in it for its version. */
  async versions(programs: readonly string[]): Promise<string[]> {
    const image = `supervisor-worker:${this.name}`;
    const file = `${root}deploy/worker.Dockerfile`;
    try {
      await docker('build', '-f', file, '--build-arg', `BASE=supervisor-control-plane:${this.name}`, '-t', image, root);
      return await Promise.all(programs.map(async (program) => (await docker('run', '--rm', image, program, '--version')).trim()));
    } finally {
      await docker('image', 'rm', '-f', image).catch(() => '');
    }
  }

  /** Ids of a service's containers, the stopped ones too. */
  async containers(service: string): Promise<string[]> {
    const filters = [`com.docker.compose.project=${this.name}`, `com.docker.compose.service=${service}`];
    return lines(await docker('ps', '-aq', ...filters.flatMap((f) => ['--filter', `label=${f}`])));
  }

  async kill(container: string): Promise<void> {
    await docker('kill', container);
  }

  /** Starts a killed container and waits until its health check is content. */
  async revive(container: string): Promise<void> {
    await docker('start', container);
    await eventually(
      async () => (await docker('inspect', '--format', '{{.State.Health.Status}}', container)).trim() === 'healthy',
      300_000,
    );
  }

  /** The first key, which the migrate step leaves in the shared volume. */
  async adminKey(): Promise<string> {
    const [api] = await this.containers('api');
    return (await docker('exec', api!, 'cat', '/data/admin.key')).trim();
  }

  async status(path: string): Promise<number> {
    return fetch(`${this.url}${path}`).then(
      (response) => response.status,
      () => 0,
    );
  }
}

/** The commands of the console blocks of a page of the guide. */
export function pageOf(text: string): string[][] {
  return consoleBlocks(text).map(({ steps }) => steps.map(({ command }) => command));
}

export const docker = (...args: string[]): Promise<string> => run(['docker', ...args], process.env);

export const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

function run([program, ...args]: string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program!, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let all = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      all += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => (all += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${program} ${args.join(' ')} ended with ${code}:\n${all.slice(-4_000)}`)),
    );
  });
}
