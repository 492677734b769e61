import { ask, type Api, type Schemas } from '../api.js';
import { addressOf } from '../agents/address.js';
import type { Agent } from '../agents/view.js';
import { stateOf, type Bead } from '../beads/view.js';
import { ApiError } from '../errors.js';
import { harmlessLine } from '../harmless.js';
import { reason, type Reason, type Why } from './reasons.js';
import { agentReasons } from './why-agent.js';
import { sessionReasons } from './why-session.js';

const ROUTE = 'gc.routed_to';
const SESSION = 'gc.session_id';
/** Of a convoy's open members so many are told one by one. */
const TOLD = 20;

/** What was not found is not there any more. Of a city that is not found nobody knows what it has. */
export async function orNothing<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && error.code !== 'city-not-found') return undefined;
    throw error;
  }
}

export async function whyBead(api: Api, city: string, bead: Bead): Promise<Why> {
  const isConvoy = bead.issue_type === 'convoy';
  const reasons = isConvoy ? await convoyReasons(api, city, bead) : await beadReasons(api, city, bead);
  return { kind: isConvoy ? 'convoy' : 'bead', id: bead.id, state: stateOf(bead), reasons };
}

async function beadReasons(api: Api, city: string, bead: Bead): Promise<Reason[]> {
  const { id, status, assignee, claim, defer_until: deferred, metadata = {} } = bead;
  const path = { cityName: city, id };
  if (status === 'closed')
    return [
      reason(`it is closed${metadata.close_reason === undefined ? '' : `: ${harmlessLine(metadata.close_reason)}`}`, [
        `svc bead reopen ${id}`,
      ]),
    ];
  if (status === 'in_progress') {
    const lease = claim?.lease_until;
    const first = reason(
      `${assignee ?? 'somebody'} works on it`,
      lease === undefined ? ['svc bead close', 'svc bead release'] : ['its end', 'the end of the lease, which gives it back'],
      lease,
    );
    const held = metadata[SESSION];
    const session =
      held === undefined
        ? undefined
        : await orNothing(
            ask(api, (signal) =>
              api.http.GET('/v0/city/{cityName}/session/{id}', { params: { path: { cityName: city, id: held } }, signal }),
            ),
          );
    return [first, ...(session === undefined ? [] : about(session.data.id, await sessionReasons(api, city, session.data)))];
  }
  const reasons: Reason[] = [];
  if (bead.is_blocked === true) {
    const params = { path, query: { direction: 'down' as const, limit: 1000 } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}/dependencies', { params, signal }));
    const edges = new Map((data.items ?? []).map((edge) => [edge.depends_on_id, edge]));
    for (const blocker of data.blocked_by ?? []) {
      const edge = edges.get(blocker);
      reasons.push(
        reason(`it waits for ${blocker}${edge === undefined ? '' : ` (${edge.status}, ${edge.type}): ${harmlessLine(edge.title)}`}`, [
          `svc why ${blocker}`,
        ]),
      );
    }
    for (const one of data.settling ?? [])
      reasons.push(
        reason(`it has yet to be told what became of ${one}`, ['the end of its fan-out', `svc bead dep list ${one} --direction up`]),
      );
  }
  if (deferred !== undefined && Date.parse(deferred) > Date.now())
    reasons.push(reason('it is deferred', [`svc bead update ${id} --no-defer`], deferred));
  if (reasons.length > 0) return reasons;
  if (bead.issue_type === 'molecule') return [await stepsReason(api, city, id)];
  const who = assignee ?? metadata[ROUTE];
  // Also one that was slung: a step is never offered.
  if (assignee === undefined && bead.issue_type === 'step')
    return [reason('it is ready, and in no queue: whoever does its run closes it', [`svc bead close ${id}`])];
  if (who === undefined) return [reason('it is ready, and nobody was told of it', [`svc sling <agent> ${id}`, `svc bead claim ${id}`])];
  const agent = await orNothing(agentOf(api, city, who));
  const ready = reason(`it is ready for ${who}`, [`${who} takes it`]);
  return [
    ready,
    ...(agent === undefined
      ? [reason(`there is no agent ${who}`, [`svc sling <agent> ${id} --force`])]
      : about(who, await agentReasons(api, city, agent))),
  ];
}

/** The root of a run whose steps are in no queue: nobody is offered it, wherever it was slung to. */
async function stepsReason(api: Api, city: string, id: string): Promise<Reason> {
  const params = { path: { cityName: city, run_id: id } };
  const run = await orNothing(ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs/{run_id}', { params, signal })));
  if (run === undefined) return reason('nobody is offered it: it has no run', [`svc bead close ${id}`]);
  const { total, closed } = run.data.progress;
  return reason(`${total - closed} of ${total} steps of its run are open`, ['the end of the last of them', `svc run show ${id}`]);
}

const about = (who: string, reasons: readonly Reason[]): Reason[] => reasons.map((one) => ({ ...one, what: `${who}: ${one.what}` }));

export async function agentOf(api: Api, city: string, name: string): Promise<Agent> {
  const address = addressOf(name);
  const path = { cityName: city, ...address };
  const { data } = await ask<Schemas['AgentResponse']>(api, (signal) =>
    'dir' in path
      ? api.http.GET('/v0/city/{cityName}/agent/{dir}/{base}', { params: { path }, signal })
      : api.http.GET('/v0/city/{cityName}/agent/{base}', { params: { path }, signal }),
  );
  return data;
}

async function convoyReasons(api: Api, city: string, { id, status, labels }: Bead): Promise<Reason[]> {
  if (status === 'closed') return [reason('it is closed')];
  const { data } = await ask(api, (signal) =>
    api.http.GET('/v0/city/{cityName}/convoy/{id}', { params: { path: { cityName: city, id } }, signal }),
  );
  const open = (data.children ?? []).filter((member) => member.status !== 'closed');
  const owned = (labels ?? []).includes('owned');
  if (open.length === 0)
    return [
      owned
        ? reason('all members are closed, and its owner lands it', [`svc convoy land ${id}`])
        : reason('it has no open member', [`svc convoy add ${id} <bead>`]),
    ];
  const shown = open.slice(0, TOLD);
  const each = await Promise.all(shown.map(async (member) => about(member.id, (await beadReasons(api, city, member)).slice(0, 1))));
  const rest = open.length > TOLD ? [reason(`${open.length - TOLD} more members are open`, [`svc convoy show ${id}`])] : [];
  return [
    reason(`${open.length} of ${(data.children ?? []).length} members are open`, [
      'the last of them is closed',
      ...(owned ? [`then svc convoy land ${id}`] : []),
    ]),
    ...each.flat(),
    ...rest,
  ];
}
