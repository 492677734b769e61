import { ask, type Api } from '../api.js';
import { suspension, type Agent } from '../agents/view.js';
import { isDown } from '../sessions/last-failure.js';
import { startLine } from '../sessions/starts.js';
import { stateOf, type Session } from '../sessions/view.js';
import { reason, type Reason, type Why } from './reasons.js';
import { ofRest, sessionReasons } from './why-session.js';

export async function whyAgent(api: Api, city: string, agent: Agent): Promise<Why> {
  return { kind: 'agent', id: agent.name, state: agent.state, reasons: await agentReasons(api, city, agent) };
}

/** What keeps an agent from working, or what it does. */
export async function agentReasons(api: Api, city: string, agent: Agent): Promise<Reason[]> {
  const { name, rest, starting, session } = agent;
  if (agent.suspended) return [reason(`it is suspended: ${suspension(agent)}`, [`svc agent resume ${name}`])];
  if (!agent.available) {
    const why = agent.unavailable_reason ?? 'for an unknown reason';
    return [reason(`it is not available: ${why}`, [resumeOf(why, city) ?? 'svc doctor'])];
  }
  if (rest !== undefined) return [ofRest(rest, rest.session_id ?? '')];
  if (starting !== undefined) return [reason(`it starts: ${startLine(starting)}`, ['its process is ready'], starting.until)];
  if (session !== undefined) {
    const params = { path: { cityName: city, id: session.name } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params, signal }));
    return sessionReasons(api, city, data);
  }
  const params = { path: { cityName: city }, query: { agent: name, limit: 100 } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/hook', { params, signal }));
  const count = (data.items ?? []).length;
  if (count > 0) return waiting(api, city, agent, `${count} ${count === 1 ? 'bead waits' : 'beads wait'} for it`);
  return [reason('nothing is ready for it', [`svc sling ${name} <bead>`, `svc session create ${name}`])];
}

/** What ends it where not the agent itself is suspended. */
function resumeOf(why: string, city: string): string | undefined {
  if (why === 'city is suspended') return `svc city resume ${city}`;
  const rig = /^rig (\S+) is suspended$/.exec(why)?.[1];
  return rig === undefined ? undefined : `svc rig resume ${rig}`;
}

/** Why what is ready for an agent, or a pool, is not taken: its sessions know, and where there is none a runner is what is missing. */
async function waiting(api: Api, city: string, { name, pool }: Agent, what: string): Promise<Reason[]> {
  const template = pool ?? name;
  const params = { path: { cityName: city }, query: { template, limit: 100 } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/sessions', { params, signal }));
  const sessions = data.items ?? [];
  const down = sessions.find(comesNotUp);
  if (down !== undefined) {
    const why = await sessionReasons(api, city, down);
    return [
      reason(`${what}, and ${down.id} is ${stateOf(down)}`, [`see svc why ${down.id}`]),
      ...why.map((one) => ({ ...one, what: `${down.id}: ${one.what}` })),
    ];
  }
  const up = sessions.filter(({ running }) => running).length;
  if (up > 0)
    return [reason(`${what}, and ${up} of its sessions ${up === 1 ? 'runs' : 'run'}`, [`see svc session list --template ${template}`])];
  return [reason(`${what}, and it has no session yet`, ['a place at a runner: see `svc runner list`'])];
}

/** Whether a session is wanted, and is not there: it is being started, waits for that, or that has failed. */
function comesNotUp(session: Session): boolean {
  const { state, running, rest, starting } = session;
  if (running) return false;
  return rest !== undefined || starting !== undefined || state === 'start-pending' || state === 'creating' || isDown(session);
}
