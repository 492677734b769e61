import { ask, type Api } from '../api.js';
import { suspension, type Agent } from '../agents/view.js';
import { startLine } from '../sessions/starts.js';
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
  if (count > 0)
    return [
      reason(`${count} ${count === 1 ? 'bead waits' : 'beads wait'} for it, and it has no session yet`, [
        'a place at a runner: see `svc runner list`',
      ]),
    ];
  return [reason('nothing is ready for it', [`svc sling ${name} <bead>`, `svc session create ${name}`])];
}

/** What ends it where not the agent itself is suspended. */
function resumeOf(why: string, city: string): string | undefined {
  if (why === 'city is suspended') return `svc city resume ${city}`;
  const rig = /^rig (\S+) is suspended$/.exec(why)?.[1];
  return rig === undefined ? undefined : `svc rig resume ${rig}`;
}
