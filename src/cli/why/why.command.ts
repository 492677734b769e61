import { Option, type Command } from 'commander';
import { ask, type Api } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { nameOf } from '../edits.js';
import { CliError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { Io } from '../io.js';
import type { Why } from './reasons.js';
import { whyAgent } from './why-agent.js';
import { agentOf, orNothing, whyBead } from './why-bead.js';
import { told } from './why-lines.js';
import { whySession } from './why-session.js';

const KINDS = ['agent', 'bead', 'session', 'convoy'] as const;
type Kind = (typeof KINDS)[number];

/** What something waits for, until when, and what would end it. */
export function addWhy(program: Command, io: Io): void {
  const why = cityCommand(program, 'why', 'tell what an agent, a bead, a session or a convoy waits for, until when, and what would end it')
    .argument('<name>', 'a bead, a convoy, an agent or a session')
    .addOption(new Option('--kind <kind>', 'which of them, where several have the name').choices(KINDS))
    .option('--json', 'print the answer as one JSON line');
  withExamples(why, 'svc why al-12', 'svc why mayor', 'svc why mayor --kind session', 'svc why al-20 -o yaml');
  why.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ kind?: Kind; json?: boolean }>(action, io);
    const found = await whyOf(api, city, nameOf('anything', name), flags.kind);
    if (found === undefined) throw new CliError(`no ${flags.kind ?? 'bead, agent or session'} is called ${name}`, EXIT.notFound);
    return flags.json === true ? printJson(io, found) : io.out(told(found));
  });
}

/** Beads and sessions share their ids, agents and sessions their names: an agent's own name means the agent. */
async function whyOf(api: Api, city: string, name: string, kind: Kind | undefined): Promise<Why | undefined> {
  const path = { cityName: city, id: name };
  if (kind === undefined || kind === 'bead' || kind === 'convoy') {
    const bead = await orNothing(ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}', { params: { path }, signal })));
    if (bead !== undefined) return whyBead(api, city, bead.data);
  }
  if (kind === undefined || kind === 'agent') {
    const agent = await orNothing(agentOf(api, city, name));
    if (agent !== undefined) return whyAgent(api, city, agent);
  }
  if (kind === undefined || kind === 'session') {
    const session = await orNothing(ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params: { path }, signal })));
    if (session !== undefined) return whySession(api, city, session.data);
  }
  return undefined;
}
