import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { parseDuration } from '../../../contract/duration.js';
import { ProblemError } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { HostBusy, StartError, type StartSpec } from '../../../platform/runtime/port.js';
import { programsNamed } from '../../../platform/runtime/programs.js';
import { Threads } from '../../../platform/threads/threads.js';
import type { CityConfig, RigConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { actingName } from './acting-name.js';
import { AgentHost } from './agent-host.js';
import { chosenOptions } from './chosen-options.js';
import { commandOf, type Command } from './command.js';
import { DeploymentService } from './deployment.service.js';
import { environmentOf } from './environment.js';
import { identityOf } from './identity.js';
import type { LaunchPlan, Template } from './launch.js';
import { LaunchRepository } from './launch.repository.js';
import { mcpServersOf } from './mcp-servers.js';
import { fingerprintWithPlace, partsWithPlace } from './place-fingerprint.js';
import { networkOf } from './network.js';
import { putsOff } from './passing.js';
import { configDirectory, preparationOf, preparedFor } from './preparation.js';
import { promptOf } from './prompt.js';
import { scriptDocument } from './script-document.js';
import { scriptName } from './script-name.js';
import { SessionSandboxes } from './session-sandbox.js';
import { startupMs } from './startup.js';
import { execScript, templateOf } from './template.js';
import { variablesOf, type Values } from './variables.js';
import { checkWritable, makeRuntimeDirectory, type Places, workDirectory } from './work-dir.js';

/** The city of a session that is started. */
export interface LaunchCity {
  readonly name: string;
  readonly streamId: number;
}

/** Puts together what a process is started with, from the configuration that the city runs and from this host. */
@Injectable()
export class LaunchPlanner {
  constructor(
    private readonly app: AppConfig,
    private readonly config: ConfigReadsService,
    private readonly repository: LaunchRepository,
    private readonly deployment: DeploymentService,
    private readonly host: AgentHost,
    private readonly sandboxes: SessionSandboxes,
    private readonly directories: DirectoriesService,
    private readonly threads: Threads,
  ) {}

  /** @throws StartError: HostBusy when the state of the host, or of the database, kept the plan from being made, `timeout` when something else did */
  async plan(city: LaunchCity, row: SessionRow, token: string | undefined): Promise<LaunchPlan> {
    try {
      return await this.#plan(city, row, token);
    } catch (error) {
      if (error instanceof StartError && !putsOff(error.cause)) throw error;
      const why = `the start could not be prepared: ${error instanceof Error ? error.message : String(error)}`;
      throw putsOff(error) ? new HostBusy(why, { cause: error }) : new StartError('timeout', why, '', { cause: error });
    }
  }

  async #plan(city: LaunchCity, row: SessionRow, token: string | undefined): Promise<LaunchPlan> {
    const [current, cityPath, deployment] = await Promise.all([
      this.config.known(city),
      this.repository.cityPath(city.streamId),
      this.deployment.id(),
    ]);
    if (current === undefined || cityPath === undefined)
      throw new StartError('not_found', `the city ${city.name} is not registered, or was never composed`);
    const { config } = current;
    const template = templateNow(config, row);
    const isOthers = (directory: string): Promise<boolean> => this.directories.isOthers(directory, city.name);
    const { citiesRoot, allowedPaths } = this.app;
    const check = await this.sandboxes.placeCheck();
    const places = { cityName: city.name, cityPath, citiesRoot, allowedPaths, rig: rigOf(config, template), isOthers, check };
    const directories = await workDirectory(template, actingName(row), places);
    await checkWritable(directories.city, city.name);
    const runtimeDir = await makeRuntimeDirectory(directories.city);
    const options = chosenOptions(template, row.options);
    const identity = identityOf({
      city: city.name,
      row,
      template,
      directories,
      runtimeDir,
      deployment,
      token,
      apiUrl: this.host.apiUrl(),
      caCert: this.host.caCert,
    });
    const env = environmentOf(
      config,
      template,
      this.host.environment(),
      { ...identity, SVC_NODE: this.host.node },
      this.host.commandsDirectory,
    );
    const command = commandOf(template, options, row.session_key);
    const timeoutMs = startupMs(config);
    const ready = readiness(template);
    const common = { cwd: directories.workDir, env, timeoutMs, options: withoutEmpty(options), ...ready };
    const script = template.transport === 'exec' ? execScript(config, template) : undefined;
    const name = script === undefined ? row.session_name : scriptName(row, city.name, deployment);
    const configDir = await configDirectory(template.agent, directories.city, places);
    const variables = variablesOf(template, row, places, directories, configDir, name);
    const prepared = await preparedFor(config, template, variables, places);
    const scriptEnv = this.host.scriptEnvironment();
    const spec =
      script === undefined
        ? { ...this.#program(command), ...common, ...(await this.#servers(config, template, variables, places)) }
        : {
            command: await this.sandboxes.checkScript(await scriptPath(script, directories.city, scriptEnv), networkOf(config, template)),
            args: [],
            ...common,
            name,
            formerName: row.session_name,
            document: await scriptDocument(template, command, common, prepared, places),
            scriptEnv,
          };
    if (spec.command === '') throw new StartError('not_found', `${template.name} has no command to start`);
    const preparation =
      script === undefined ? prepared && (await preparationOf(prepared, template, directories.workDir, runtimeDir, places)) : undefined;
    const prompt = await promptOf(config, template, row, places, this.threads);
    const { id, pk } = row;
    const start = { deployment, city: city.name, session: id, generation: String(row.generation) };
    const sandbox = await this.sandboxes.of({ id, pk, streamId: city.streamId, template, config, places, directories, runtimeDir, start });
    return {
      spec: { ...spec, sandbox },
      transport: template.transport,
      workDir: directories.workDir,
      fingerprint: fingerprintWithPlace(config, template, row.options),
      parts: partsWithPlace(config, template, row.options),
      restarts: restartsOf(config),
      ...(preparation === undefined ? {} : { preparation }),
      ...(prompt === undefined ? {} : { prompt }),
    };
  }

  /** Terminals are not told of servers: their programs read files of their own, which an overlay can bring. */
  async #servers(
    config: CityConfig,
    template: Template,
    variables: Values,
    places: Places,
  ): Promise<Pick<LaunchPlan['spec'], 'mcpServers'>> {
    if (template.transport !== 'acp') return {};
    const mcpServers = await mcpServersOf(config, template, variables, this.host.environment(), places);
    return mcpServers.length === 0 ? {} : { mcpServers };
  }

  #program({ command, args }: Command): Command {
    const shipped = this.host.shipped(command);
    return shipped === undefined ? { command, args } : { command: shipped.command, args: [...shipped.args, ...args] };
  }
}

function restartsOf({ daemon }: CityConfig): LaunchPlan['restarts'] {
  const { max_restarts: max, restart_window: window } = (daemon ?? {}) as { max_restarts?: number; restart_window?: string };
  const crashWindowMs = window === undefined ? undefined : parseDuration(window);
  return {
    ...(max === undefined ? {} : { maxCrashes: max === 0 ? Infinity : max }),
    ...(crashWindowMs ? { crashWindowMs } : {}),
  };
}

/** @throws StartError */
function templateNow(config: CityConfig, row: SessionRow): Template {
  try {
    return templateOf(config, row.kind, row.template);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const failure = error.problem === 'provider_not_ready' ? 'unsupported' : 'not_found';
    throw new StartError(failure, error.detail.slice(error.kind.prefix.length + 2), '', { cause: error });
  }
}

/** @throws StartError */
function rigOf(config: CityConfig, { rig }: Template): Places['rig'] {
  if (rig === '') return undefined;
  const found: RigConfig | undefined = config.rigs.find(({ name }) => name === rig);
  if (found?.path === undefined) throw new StartError('not_found', `the rig ${rig} is not bound to a directory`);
  return { name: rig, path: found.path };
}

function readiness({ spec, agent }: Template): { readyPrefix?: string; readyDelayMs?: number } {
  const prefix = (agent?.ready_prompt_prefix ?? spec.ready_prompt_prefix) as string | undefined;
  const delay = (agent?.ready_delay_ms ?? spec.ready_delay_ms) as number | undefined;
  return { ...(prefix === undefined ? {} : { readyPrefix: prefix }), ...(delay === undefined ? {} : { readyDelayMs: delay }) };
}

/** An empty value leaves an option to the agent. */
function withoutEmpty(options: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== ''));
}

/** A name is looked for where the script itself would be: nowhere that a city says. */
async function scriptPath(script: string, city: string, env: StartSpec['env']): Promise<string> {
  if (script.includes('/')) return path.resolve(city, script);
  for await (const file of programsNamed({ command: script, cwd: '/', env })) return file;
  return script;
}
