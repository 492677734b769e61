import { CONFIG_BODIES, configPath, useConfig } from './config-examples.js';
import { agentPath, useAgents } from './config-examples-agents.js';
import { ExtmsgClient } from './extmsg-client.js';
import { extmsgBodies, extmsgPath, makeExtmsg, useExtmsg, type ExtmsgExamples } from './config-examples-extmsg.js';
import { makeFiring, orderPath, useOrders } from './config-examples-orders.js';
import { FORMULA_BODIES, formulaPath, useFormulas } from './config-examples-formulas.js';
import { PATCH_BODIES, patchPath, usePatches } from './config-examples-patches.js';
import { rigPath, useRigs } from './config-examples-rigs.js';
import { adminAt } from './database.js';
import type { Api } from './http.js';
import { restMaintenance, useMaintenance } from './maintenance-examples.js';
import { servicePath, useServices } from './service-examples.js';
import { makeSessions, sessionPath, useSessions, type SessionExamples } from './session-examples.js';

/** One of everything that paths of the families of work and of sessions name. */
export interface WorkExamples extends SessionExamples, ExtmsgExamples {
  readonly bead: string;
  readonly convoy: string;
  readonly message: string;
  readonly wait: string;
  /** The root of a run. */
  readonly run: string;
  readonly firing: string;
  /** A batch of slings that goes on. */
  readonly batch: string;
}

/** Makes them in a running city that has the agent `mayor`. Cities with different tags have different sessions. */
export async function makeWork(client: Api, city: string, databaseUrl: string, tag?: number): Promise<WorkExamples> {
  const made = async (path: string, body: object): Promise<string> => {
    const reply = await client.post(`/v0/city/${city}/${path}`, body);
    if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${reply.text}`);
    return (reply.body as { id: string }).id;
  };
  await restMaintenance(databaseUrl, city);
  const bead = await made('beads', { title: 'an example' });
  const sessions = await makeSessions(databaseUrl, city, tag);
  return {
    bead,
    convoy: await made('convoys', { title: 'examples', items: [bead] }),
    message: await made('mail', { to: 'mayor', subject: 'hello', from: 'human' }),
    wait: await made('waits', { session: 'mayor', dep_ids: [bead] }),
    run: await aRun(databaseUrl, city, await made('beads', { title: 'a run', type: 'molecule' })),
    firing: await makeFiring(databaseUrl, city),
    batch: await makeBatch(databaseUrl, city),
    ...sessions,
    ...(await makeExtmsg(databaseUrl, city, sessions.session, tag)),
  };
}

/** A batch of slings that no worker knows of: it goes on until it is canceled. */
export async function makeBatch(databaseUrl: string, city: string): Promise<string> {
  await adminAt(
    databaseUrl,
    `insert into sling_batches (stream_id, request_id, actor, asked, target, beads)
     select stream_id, $1, 'tester', '{}', 'mayor', '{x-1}' from cities where name = $2`,
    [batchIn(city), city],
  );
  return batchIn(city);
}

const batchIn = (city: string): string => `req-${city}-1`;

/** A run without steps of a formula that the city does not have, with this root. */
async function aRun(databaseUrl: string, city: string, root: string): Promise<string> {
  await adminAt(
    databaseUrl,
    `with b as (update beads set run_id = id where id = $1 and stream_id = (select stream_id from cities where name = $2) returning stream_id, id)
     insert into runs (stream_id, id, formula, formula_sha256, compiler, root_only, launched_by, title, steps)
     select stream_id, id, 'gone', '', 1, false, 'molecule', 'a run', 0 from b`,
    [root, city],
  );
  return root;
}

/** A documented path in a city, its parameters filled with what is there; with the query that the operation demands. */
export function workPath(path: string, city: string, examples: WorkExamples, method = 'GET'): string {
  const kind = /\/(bead|convoy|mail|molecule|wait)\//.exec(path)?.[1];
  const id =
    { bead: examples.bead, molecule: examples.run, convoy: examples.convoy, mail: examples.message, wait: examples.wait }[kind ?? ''] ??
    '0123456789ab';
  const filled = orderPath(
    formulaPath(
      configPath(patchPath(rigPath(agentPath(sessionPath(servicePath(extmsgPath(path, examples, method)), examples))))),
      city,
      method,
    ),
    city,
  )
    .replace('{cityName}', city)
    .replace('{id}', id)
    .replace('{rootID}', examples.bead)
    .replace('{request_id}', examples.batch)
    .replace('{run_id}', examples.run)
    .replace('{workflow_id}', examples.run)
    .replace('{bead_id}', examples.firing)
    .replace('{dependsOnId}', examples.convoy)
    .replace('{label}', 'x');
  return path.endsWith('/hook') ? `${filled}?agent=mayor` : filled;
}

/** Bodies where the example of the document names what is not here, by operation: see `fittingBody`. */
export function workBodies({ bead, wait, session, ...examples }: WorkExamples): Readonly<Record<string, object>> {
  const city = 'v0-city-by-city-name';
  return {
    ...CONFIG_BODIES,
    ...FORMULA_BODIES,
    ...PATCH_BODIES,
    ...extmsgBodies(session, examples),
    'add-bead-dependency': { depends_on_id: wait },
    [`post-${city}-sling`]: { target: 'mayor', bead },
    'sling-batch': { target: 'mayor', beads: [bead] },
  };
}

/** Uses every mutation of the families of work and configuration once, to good effect, in a city that has the batch of `makeBatch`; answers what did not succeed. @param url of a replica */
export async function workEverything(client: Api, city: string, url: string): Promise<string[]> {
  const failed: string[] = [];
  const ask = async (method: string, path: string, body?: object | string): Promise<{ id: string } & Record<string, unknown>> => {
    const reply = await client.send(method, `/v0/city/${city}/${path}`, body);
    if (reply.status >= 300) failed.push(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body as { id: string };
  };
  const { id } = await ask('POST', 'beads', { title: 'one' });
  const { id: other } = await ask('POST', 'beads', { title: 'two', needs: [id] });
  await ask('PATCH', `bead/${id}`, { priority: 1 });
  await ask('POST', `bead/${id}/update`, { description: 'x' });
  await ask('POST', `bead/${id}/assign`, { assignee: '' });
  await ask('PUT', `bead/${id}/labels`, { labels: ['a'] });
  await ask('POST', `bead/${id}/labels`, { labels: ['b'] });
  await ask('DELETE', `bead/${id}/labels/a`);
  await ask('POST', `bead/${id}/dependencies`, { depends_on_id: other, type: 'related' });
  await ask('DELETE', `bead/${id}/dependencies/${other}`);
  const { fence } = await ask('POST', `bead/${id}/claim`, { assignee: 'mayor' });
  await ask('POST', `bead/${id}/heartbeat`, { assignee: 'mayor', fence: fence as number });
  await ask('POST', `bead/${id}/release`, { assignee: 'mayor' });
  await ask('POST', 'sling', { target: 'mayor', bead: id });
  await ask('POST', 'sling/batch', { target: 'mayor', beads: [id] });
  await ask('POST', `sling/batch/${batchIn(city)}/cancel`);
  await ask('POST', 'hook/claim', { agent: 'mayor' });
  const { id: wait } = await ask('POST', 'waits', { session: 'mayor', dep_ids: [id] });
  const again = await ask('POST', 'waits', { session: 'mayor', kind: 'manual' });
  const lost = await ask('POST', 'waits', { session: 'mayor', kind: 'manual' });
  const { id: convoy } = await ask('POST', 'convoys', { title: 'c', owned: true });
  await ask('POST', `convoy/${convoy}/add`, { items: [id, other] });
  await ask('POST', `convoy/${convoy}/remove`, { items: [other] });
  await ask('POST', `bead/${id}/close`, { reason: 'done' });
  await ask('POST', `convoy/${convoy}/land`, {});
  const ready = (await ask('GET', `wait/${wait}`)) as unknown as { nudge_id: string };
  await ask('POST', `wait/${wait}/accept`, { nudge_id: ready.nudge_id });
  const second = (await ask('POST', `wait/${again.id}/ready`)) as unknown as { nudge_id: string };
  await ask('POST', `wait/${again.id}/fail`, { nudge_id: second.nudge_id, error: 'x' });
  await ask('POST', `wait/${lost.id}/cancel`, {});
  await ask('POST', `bead/${id}/reopen`);
  await ask('DELETE', `bead/${id}`);
  for (const [method, path] of [
    ['POST', 'close'],
    ['DELETE', ''],
  ] as const) {
    const group = await ask('POST', 'convoys', { title: 'd' });
    await ask(method, `convoy/${group.id}${path === '' ? '' : `/${path}`}`);
  }
  const { id: message } = await ask('POST', 'mail', { to: 'mayor', subject: 's', from: 'human' });
  await ask('POST', 'mail/broadcast', { subject: 's' });
  await ask('PUT', 'mail/settings', { unread_retention: null });
  for (const step of ['read', 'mark-unread', 'reply', 'archive'])
    await ask('POST', `mail/${message}/${step}`, step === 'reply' ? {} : undefined);
  await ask('DELETE', `mail/${message}`);
  await useConfig(ask);
  await usePatches(ask);
  await useFormulas(ask, city);
  await useOrders(ask);
  await useServices(ask);
  await useAgents(ask);
  await useRigs(ask);
  await useMaintenance(ask);
  const failedDelivery = async (): Promise<string> => {
    const { items } = (await ask('GET', 'extmsg/deliveries?status=failed&direction=outbound')) as unknown as { items: { id: string }[] };
    return items[0]!.id;
  };
  await useExtmsg(ask, failedDelivery, (token) => ExtmsgClient.connect(url, token, { city }));
  await useSessions(ask);
  return failed;
}
