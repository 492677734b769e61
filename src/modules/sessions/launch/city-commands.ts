import { createHash } from 'node:crypto';
import { constants } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { endOrphans, type EndingLimits } from '../../../platform/runtime/ending.js';
import { StartError, UnconfirmedDead } from '../../../platform/runtime/port.js';
import { spawnAgent, type AgentProcess, type SpawnSpec } from '../../../platform/runtime/spawn.js';
import { readSteadily } from '../../../platform/runtime/steadily.js';
import { Tail } from '../../../platform/runtime/tail.js';
import { atMost, sleep } from '../../../platform/time/clock.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { AgentHost } from './agent-host.js';
import { DeploymentService } from './deployment.service.js';
import { environmentOf } from './environment.js';
import { outputOf, READ } from './command-output.js';
import type { Template } from './launch.js';
import { LaunchRepository } from './launch.repository.js';
import { isPassing } from './passing.js';
import { locateNamed } from './named-file.js';
import { makeStateRoot } from './service-place.js';
import { SessionSandboxes, type CommandPlace } from './session-sandbox.js';
import { shellLine, type Line, type Script } from './shell-line.js';
import { makeRuntimeDirectory, workDirectory, type Places } from './work-dir.js';

/** What a city's files have run that is no session's. */
export type CityCommand = (Line | Script) & About & { readonly timeoutMs: number };

/** What goes on until somebody ends it, and is called from outside. */
export interface CityService extends Omit<About, 'rig'> {
  readonly argv: readonly string[];
  /** Where it is started, as `Issue.file` names folders; the city without one. */
  readonly folder: string | undefined;
  /** Where it keeps its state, from the city. */
  readonly stateRoot: string;
  /** A folder of this host that is empty: the socket in it is the service's, and how it learns of that. */
  readonly sockets: string;
}

/** What a service calls its socket. */
export const SOCKET = 'service.sock';

interface About {
  readonly city: { readonly name: string; readonly streamId: number };
  /** '' for the city; else it runs in the rig. */
  readonly rig: string;
  /** Whose it is: what it leaves in its home it finds again the next time. */
  readonly owner: string;
  /** Names this one, and how often it has been begun: whatever of it is left on a host is found by both. */
  readonly id: string;
  readonly attempt: number;
  readonly env: Readonly<Record<string, string>>;
  /** What the service says, over everything else. */
  readonly said: Readonly<Record<string, string>>;
}

export interface CommandEnd {
  /** Null for one that was ended, or never began. */
  readonly code: number | null;
  /** `busy`: it did not begin, for the state of this host at that moment; another time, or elsewhere, it may. */
  readonly how: 'exited' | 'timeout' | 'aborted' | 'failed' | 'busy';
  /** The end of what it wrote, without what looks like a secret. */
  readonly output: string;
  /** The end of its standard output alone, as it is; undefined when it did not begin. */
  readonly said?: string;
  /** Why it failed, in words. */
  readonly error?: string;
  /** It did not even begin, and would not another time. */
  readonly unstarted?: true;
  /** Somebody else has ended it: the kernel, for want of memory, or whoever took it for left over. What it would have said nobody knows. */
  readonly killed?: true;
}

/** It reads nothing: it is told at once, and killed after this. */
const ENDING = { inputMs: 0, termMs: 2_000 };
/** For output that is on its way when everything that could write is gone. */
const LAST_WORDS_MS = 2_000;

/**
 * Runs lines of shell for cities on this host: behind the walls that sessions have, with the environment that the host allows,
 * in a group that ends as a whole. Ended with SIGTERM, then SIGKILL.
 */
@Injectable()
export class CityCommands {
  constructor(
    private readonly app: AppConfig,
    private readonly config: ConfigReadsService,
    private readonly repository: LaunchRepository,
    private readonly deployment: DeploymentService,
    private readonly host: AgentHost,
    private readonly sandboxes: SessionSandboxes,
    private readonly directories: DirectoriesService,
  ) {}

  /** Never fails: what goes wrong is how it ended. @throws UnconfirmedDead when something of it is left and cannot be ended */
  async run(command: CityCommand, signal: AbortSignal): Promise<CommandEnd> {
    let end: CommandEnd | undefined;
    let begun = false;
    const begins = (): void => void (begun = true);
    try {
      await this.#endEarlier(command);
      const { spec, place } = await this.#plan(command);
      await this.sandboxes.aroundCommand(place, async (sandbox) => {
        end = await this.#carryOut({ ...spec, sandbox }, command, signal, begins);
      });
    } catch (error) {
      // What has begun is not begun again for the state of this host: what it has done is done.
      if (begun && end === undefined) throw error instanceof UnconfirmedDead ? error : new UnconfirmedDead(String(error), { cause: error });
      if (error instanceof UnconfirmedDead && (begun || !isPassing(error))) throw error;
      const unbegun = isPassing(error) ? ({ how: 'busy' } as const) : ({ how: 'failed', unstarted: true } as const);
      end ??= { code: null, ...unbegun, output: '', error: error instanceof Error ? error.message : String(error) };
    }
    return end!;
  }

  /**
   * Starts a service, whose output comes by `stdout` alone, and ends it with all that is left of it once `work` is done.
   *
   * @throws StartError, UnconfirmedDead, what `work` throws
   */
  async hold<T>(service: CityService, work: (process: AgentProcess) => Promise<T>): Promise<T> {
    const { city, id, argv } = service;
    await this.#endLeft(city, (generation) => generation?.startsWith(`${id}.`) ?? false, ENDING);
    const planned = await this.#surroundings({ ...service, rig: '' }, '');
    const { directories, places } = planned.place;
    const stateRoot = await makeStateRoot(directories, service.stateRoot);
    const folder = service.folder === undefined ? directories.city : await locateNamed(service.folder, places);
    if (folder === undefined) throw new StartError('not_found', `there is no folder ${service.folder}`);
    const place = { ...planned.place, service: { stateRoot, sockets: service.sockets } };
    return this.sandboxes.aroundCommand(place, async (sandbox, sockets) => {
      const env = {
        ...planned.env,
        PACK_DIR: folder,
        SVC_SERVICE_STATE_ROOT: stateRoot,
        SVC_SERVICE_SECRETS_DIR: path.join(stateRoot, 'secrets'),
        SVC_SERVICE_RUN_ROOT: path.join(stateRoot, 'run'),
        SVC_SERVICE_SOCKET: path.posix.join(sockets, SOCKET),
      };
      // One pipe for both outputs keeps their order.
      const args = ['-c', 'exec "$@" 2>&1', 'sh', ...argv];
      const process = await spawnAgent({ command: '/bin/sh', args, cwd: folder, env, sandbox }, { limits: ENDING });
      process.stdin.end();
      try {
        return await work(process);
      } finally {
        await process.end();
        await atMost(LAST_WORDS_MS, process.closed);
      }
    });
  }

  async #endEarlier({ city, id, attempt }: CityCommand): Promise<void> {
    if (attempt === 1) return;
    const earlier = new Set(Array.from({ length: attempt - 1 }, (_, n) => markOf(id, n + 1)));
    await this.#endLeft(city, (generation) => earlier.has(generation ?? ''));
  }

  /** What a worker of this host has left that was killed while it carried the same thing out: nobody else has it. @throws UnconfirmedDead */
  async #endLeft({ name, streamId }: About['city'], which: (mark?: string) => boolean, limits?: Partial<EndingLimits>): Promise<void> {
    const marks = { deployment: await this.deployment.id(), city: name, session: '' };
    const table = await this.sandboxes.tableOf(streamId);
    await endOrphans(marks, limits, table, ({ generation }) => which(generation));
  }

  async #carryOut(spec: SpawnSpec, command: CityCommand, signal: AbortSignal, begins: () => void): Promise<CommandEnd> {
    const shell = await spawnAgent(spec, { limits: ENDING });
    begins();
    const output = new Tail(READ);
    readSteadily(shell.stdout, (chunk) => output.push(chunk));
    shell.stdin.end();
    const timer = new AbortController();
    const how = await Promise.race([
      shell.exited.then((): CommandEnd['how'] => 'exited'),
      sleep(command.timeoutMs, timer.signal).then((): CommandEnd['how'] => 'timeout'),
      new Promise<CommandEnd['how']>((resolve) => {
        if (signal.aborted) resolve('aborted');
        signal.addEventListener('abort', () => resolve('aborted'), { once: true });
      }),
    ]);
    timer.abort();
    // Also of one that has ended: what it has left running is not to outlive it.
    await shell.end({ hard: how === 'exited' });
    await atMost(LAST_WORDS_MS, shell.closed);
    const { code, signal: killed } = shell.hasExited ? await shell.exited : { code: null, signal: null };
    const said = output.text();
    const wrote = { output: outputOf(said, shell.stderrTail()), said };
    if (how !== 'exited') return { code: null, how, ...wrote };
    if (code === 0) return { code, how, ...wrote };
    const error = code === null ? `ended by ${killed ?? 'a signal'}` : `exit status ${code}`;
    return { code, how: 'failed', ...wrote, error, ...(wasKilled(code, killed) ? { killed: true } : {}) };
  }

  /** @throws StartError */
  async #plan(command: CityCommand): Promise<{ spec: SpawnSpec; place: CommandPlace }> {
    const file = 'script' in command ? command.script : command.file;
    const { env, place } = await this.#surroundings(command, file);
    const { places, directories } = place;
    return { spec: { command: '/bin/sh', args: ['-c', await shellLine(command, places)], cwd: directories.workDir, env }, place };
  }

  /** @throws StartError */
  async #surroundings(
    { city, rig, owner, id, attempt, env: own, said }: About,
    file: string,
  ): Promise<{ env: SpawnSpec['env']; place: CommandPlace }> {
    const [current, cityPath, deployment] = await Promise.all([
      this.config.known(city),
      this.repository.cityPath(city.streamId),
      this.deployment.id(),
    ]);
    if (current === undefined || cityPath === undefined)
      throw new StartError('not_found', `the city ${city.name} is not registered, or was never composed`);
    const { config } = current;
    const template: Template = { ...BARE, rig, spec: { env: own } };
    const isOthers = (directory: string): Promise<boolean> => this.directories.isOthers(directory, city.name);
    const bound = config.rigs.find(({ name }) => name === rig)?.path;
    if (rig !== '' && bound === undefined) throw new StartError('not_found', `the rig ${rig} is not bound to a directory`);
    const inRig = bound === undefined ? undefined : { name: rig, path: bound };
    const { citiesRoot, allowedPaths } = this.app;
    const places: Places = { cityName: city.name, cityPath, citiesRoot, allowedPaths, rig: inRig, isOthers };
    const directories = await workDirectory(template, owner, places);
    const runtimeDir = await makeRuntimeDirectory(directories.city);
    const folder = await locateNamed(file.slice(0, file.lastIndexOf('/') + 1) || '.', places);
    const apiUrl = this.host.apiUrl();
    const identity = {
      ...said,
      SVC_CITY: city.name,
      SVC_CITY_PATH: directories.city,
      SVC_CITY_RUNTIME_DIR: runtimeDir,
      SVC_RIG: rig,
      SVC_RIG_ROOT: directories.rigRoot ?? '',
      SVC_DIR: directories.workDir,
      SVC_NODE: this.host.node,
      // These four tell what of it is left on a host.
      SVC_DEPLOYMENT: deployment,
      SVC_SESSION_ID: '',
      SVC_GENERATION: markOf(id, attempt),
      ORDER_DIR: folder ?? '',
      PACK_DIR: folder === undefined ? directories.city : path.dirname(folder),
      ...(apiUrl === undefined ? {} : { SVC_API_URL: apiUrl }),
      ...(this.host.caCert === undefined ? {} : { SVC_CA_CERT: this.host.caCert }),
    };
    const env = environmentOf(config, template, this.host.environment(), identity, this.host.commandsDirectory);
    const key = createHash('sha256').update(owner).digest('hex').slice(0, 16);
    return { env, place: { owner: key, streamId: city.streamId, template, config, places, directories, runtimeDir } };
  }
}

const markOf = (id: string, attempt: number): string => `${id}.${attempt}`;

/** What stands around a program tells by its status which signal has ended that. */
function wasKilled(code: number | null, signal: string | null): boolean {
  return (['SIGTERM', 'SIGKILL'] as const).some((name) => signal === name || code === 128 + constants.signals[name]);
}

const BARE = {
  kind: 'provider',
  name: '',
  provider: '',
  transport: 'pty',
  optionSchema: [],
  optionDefaults: {},
  title: '',
  isPool: false,
} as const satisfies Partial<Template>;
