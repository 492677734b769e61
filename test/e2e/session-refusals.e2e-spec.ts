import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectRefusal } from '../support/refusal.js';
import { SessionsCity } from '../support/sessions-city.js';

/** What a provider or its process cannot do is said, and changes nothing. */
let crew: SessionsCity;
beforeAll(async () => {
  crew = await SessionsCity.open();
  const at = (file: string): string => join(crew.stack.citiesRoot, 'crew', file);
  await appendFile(at('city.toml'), '\n[providers.plain]\ncommand = "cat"\n');
  await appendFile(at('pack.toml'), '\n[[agent]]\nname = "talker"\nprovider = "plain"\nsession = "acp"\nprompt_template = "prompt.md"\n');
  expect((await crew.a.post(crew.path('config/reload'))).status).toBe(200);
});
afterAll(() => crew?.close());

async function refuses(rest: string, body: object, wanted: { status: number; detail: string }): Promise<void> {
  const before = [await crew.head(), (await crew.sql('select * from operations')).length];
  expectRefusal(await crew.a.post(crew.path(rest), body), crew.path(rest), wanted);
  expect([await crew.head(), (await crew.sql('select * from operations')).length]).toEqual(before);
}

/** A session in a turn, whose process says this of itself. */
async function inTurn(capabilities: object): Promise<string> {
  const { id } = await crew.make();
  await crew.putState(id, 'active');
  await crew.put(id, { capabilities: JSON.stringify(capabilities) });
  await crew.sql(`update session_logs l set activity = 'in-turn' from sessions s where s.id = $1 and l.session_pk = s.pk`, [id]);
  return id;
}

it('503 for an agent that is to speak ACP with a provider that does not', async () => {
  const detail = 'provider_not_ready: talker asks for the acp transport, which its provider does not support';
  await refuses('sessions', { kind: 'agent', name: 'talker' }, { status: 503, detail });
});

it('501 for a permission mode where the provider has none', async () => {
  const { id } = await crew.make({ kind: 'provider', name: 'plain' });
  const detail = 'unsupported: provider plain has no permission modes to choose from';
  await refuses(`session/${id}/permission-mode`, { permission_mode: 'ask' }, { status: 501, detail });
});

it('501 for an interruption of a process that cannot be interrupted; it waits instead where that is asked for', async () => {
  const id = await inTurn({ interrupt: false });
  const detail = `unsupported: the runtime of session ${id} cannot interrupt a turn`;
  await refuses(`session/${id}/submit`, { message: 'stop', intent: 'interrupt_now' }, { status: 501, detail });
  expect(await crew.a.post(crew.path(`session/${id}/submit`), { message: 'then', intent: 'follow_up' })).toMatchObject({ status: 202 });
});

it('501 for an answer to a process that asks nothing', async () => {
  const id = await inTurn({ interactions: false });
  const detail = `unsupported: the runtime of session ${id} asks nothing`;
  await refuses(`session/${id}/respond`, { action: 'allow' }, { status: 501, detail });
});
