import { Option, type Command } from 'commander';
import { addressOf } from '../agents/address.js';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, withExamples } from '../command.js';
import { answered, matchHeader, nameOf, requireChange, withIfMatch } from '../edits.js';
import type { Io } from '../io.js';
import { contentOf, type ContentFlags } from '../providers/content.js';
import { defined, environmentOf } from '../values.js';

interface CommonFlags {
  readonly env?: readonly string[];
  readonly suspended?: boolean;
  readonly ifMatch?: string;
  readonly json?: boolean;
}

interface AgentFlags extends CommonFlags {
  readonly provider?: string;
  readonly workDir?: string;
  readonly tmuxAlias?: string;
  readonly scope?: string;
}

interface RigFlags extends CommonFlags {
  readonly path?: string;
  readonly prefix?: string;
  readonly defaultBranch?: string;
}

interface ProviderFlags
  extends CommonFlags, Pick<ContentFlags, 'command' | 'arg' | 'acpCommand' | 'acpArg' | 'promptMode' | 'promptFlag' | 'readyDelay'> {
  readonly acceptStartupDialogs?: boolean;
}

const ENV = 'set this variable; the name alone takes the value from here; repeatable';

/** What is common to the three: a patch is stored whole, what is not named is taken out of it. */
function setting(set: Command, kind: string, what: string): Command {
  const command = cityCommand(set, kind, `store the patch of ${what}; of these options, those not named are taken out of it`).argument(
    '<name>',
    what,
  );
  return withIfMatch(command.option('--json', 'print the answer as one JSON line'), 'the configuration');
}

export function addSet(patch: Command, io: Io): void {
  const set = patch.command('set').description('store the patch of an agent, a rig or a provider');
  addAgent(set, io);
  addRig(set, io);
  addProvider(set, io);
}

function addAgent(set: Command, io: Io): void {
  const command = setting(set, 'agent', 'an agent: `core.worker`, `web/polecat`')
    .option('--provider <name>', 'who runs it')
    .option('--work-dir <path>', 'where it works')
    .option('--tmux-alias <name>', 'the name of its window')
    .addOption(new Option('--scope <scope>', 'where it is').choices(['city', 'rig']))
    .option('--suspended', 'suspended')
    .option('--no-suspended', 'not suspended')
    .option('--env <name=value>', ENV, collect);
  withExamples(command, 'svc patch set agent core.worker --provider codex', 'svc patch set agent web/polecat --suspended --env TIER=low');
  command.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<AgentFlags>(action, io);
    const sets = defined({
      provider: flags.provider,
      work_dir: flags.workDir,
      tmux_alias: flags.tmuxAlias,
      scope: flags.scope,
      suspended: flags.suspended,
      env: environmentOf('--env', flags.env, io),
    });
    requireChange(sets);
    const address = addressOf(name);
    const body = { name: address.base, ...('dir' in address ? { dir: address.dir } : {}), ...sets };
    const params = { path: { cityName: city }, header: matchHeader(flags, [name]) };
    const { data } = await ask(api, (signal) => api.http.PUT('/v0/city/{cityName}/patches/agents', { params, body, signal }));
    await answered(io, flags, data, `the patch of agent ${name} is stored`);
  });
}

function addRig(set: Command, io: Io): void {
  const command = setting(set, 'rig', 'a rig')
    .option('--path <path>', 'where it is')
    .option('--prefix <prefix>', 'begins the ids of its beads')
    .option('--default-branch <branch>', 'the branch that work goes to')
    .option('--suspended', 'suspended, unless somebody resumes it by hand')
    .option('--no-suspended', 'not suspended, unless somebody suspends it by hand');
  withExamples(command, 'svc patch set rig web --suspended', 'svc patch set rig web --default-branch develop');
  command.action(async (given: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<RigFlags>(action, io);
    const sets = defined({ path: flags.path, prefix: flags.prefix, default_branch: flags.defaultBranch, suspended: flags.suspended });
    requireChange(sets);
    const body = { name: nameOf('a rig', given), ...sets };
    const params = { path: { cityName: city }, header: matchHeader(flags, [given]) };
    const { data } = await ask(api, (signal) => api.http.PUT('/v0/city/{cityName}/patches/rigs', { params, body, signal }));
    await answered(io, flags, data, `the patch of rig ${given} is stored`);
  });
}

function addProvider(set: Command, io: Io): void {
  const command = setting(set, 'provider', 'a provider that the city defines')
    .option('--command <command>', 'what is started')
    .option('--arg <arg>', 'its arguments; repeatable, write --arg=--flag', collect)
    .option('--acp-command <command>', 'what is started to speak ACP')
    .option('--acp-arg <arg>', 'its arguments; repeatable', collect)
    .addOption(new Option('--prompt-mode <mode>', 'how the prompt is handed over').choices(['arg', 'flag', 'none']))
    .option('--prompt-flag <flag>', 'the flag of --prompt-mode flag')
    .option('--ready-delay <duration>', 'how long it takes to be ready')
    .option('--accept-startup-dialogs', 'answers what it asks at its start')
    .option('--no-accept-startup-dialogs', 'leaves unanswered what it asks at its start')
    .option('--env <name=value>', ENV, collect);
  withExamples(command, 'svc patch set provider codex --ready-delay 800ms', 'svc patch set provider codex --arg=--quiet --env API_KEY');
  command.action(async (given: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<ProviderFlags>(action, io);
    const sets = { ...contentOf(flags, io), ...defined({ accept_startup_dialogs: flags.acceptStartupDialogs }) };
    requireChange(sets);
    const body = { name: nameOf('a provider', given), ...sets };
    const params = { path: { cityName: city }, header: matchHeader(flags, [given]) };
    const { data } = await ask(api, (signal) => api.http.PUT('/v0/city/{cityName}/patches/providers', { params, body, signal }));
    await answered(io, flags, data, `the patch of provider ${given} is stored`);
  });
}
