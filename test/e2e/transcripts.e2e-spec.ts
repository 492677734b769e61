import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually, openStream, type Frame, type OpenStream } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;

beforeAll(async () => {
  stack = await startStack({ workers: 1 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'town', provider: 'loopback' }), 'request.result.city.create');
  await ledger.stream.close();
});
afterAll(() => stack?.stop());

const path = (rest: string): string => `/v0/city/town/${rest}`;
const follow = (replica: number, rest: string, lastEventId?: string): Promise<OpenStream> =>
  openStream(`${stack.urls[replica]}${path(rest)}`, lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } });
const make = async (body: object = {}): Promise<string> => {
  const reply = await a.post(path('sessions'), { kind: 'provider', name: 'loopback', ...body });
  expect(reply).toMatchObject({ status: 202 });
  const id = reply.body.session_id as string;
  await eventually(async () => (await b.get(path(`session/${id}`))).body.running === true);
  return id;
};
const say = async (id: string, message: string): Promise<void> => {
  expect(await a.post(path(`session/${id}/messages`), { message })).toMatchObject({ status: 202 });
};
const transcript = (id: string, query = ''): Promise<Reply> => b.get(path(`session/${id}/transcript${query}`));
const texts = (turns: readonly { text: string }[]): string[] => turns.map(({ text }) => text);
const settled = async (id: string, text: string): Promise<any> => {
  let body: any;
  await eventually(async () => {
    body = (await transcript(id)).body;
    const { activity } = (await b.get(path(`session/${id}`))).body;
    return activity === 'idle' && texts(body.turns as { text: string }[]).some((one) => one.includes(text));
  });
  return body;
};
/** The texts by entry after all frames of a conversation stream. */
const folded = (frames: readonly Frame[]): string[] => {
  const turns = new Map<string, string>();
  for (const { event, data } of frames)
    if (event === 'turn') for (const { id, text } of data.turns as { id: string; text: string }[]) turns.set(id, text);
  return [...turns.values()].filter((text) => text !== '');
};

describe('transcripts of real sessions', () => {
  it('are followed live on another replica, read in every format, and resumed', async () => {
    const id = await make();
    const stream = await follow(1, `session/${id}/stream`);
    expect(stream.response.headers.get('svc-session-state')).toBe('active');
    expect(stream.response.headers.get('svc-session-status')).toBeNull();
    await say(id, 'stream 20 5');
    await stream.until((f) => f.event === 'activity' && f.data.activity === 'in-turn');
    await stream.untilAll((frames) => folded(frames).some((text) => text.endsWith('20 ')));
    await stream.until((f) => f.event === 'activity' && f.data.activity === 'idle' && Number(f.id) > 2);
    await say(id, 'tool');
    const body = await settled(id, 'The tool said hello.');
    await stream.untilAll((frames) => folded(frames).some((text) => text.includes('The tool said hello.')));
    expect(folded(stream.frames)).toEqual(texts(body.turns as { text: string }[]));
    const middle = stream.frames[Math.floor(stream.frames.length / 2)]!;
    const resumed = await follow(0, `session/${id}/stream`, middle.id);
    const before = stream.frames.slice(0, Math.floor(stream.frames.length / 2) + 1);
    await resumed.until((f) => f.event === 'heartbeat');
    expect(folded([...before, ...resumed.frames])).toEqual(folded(stream.frames));

    const structured = (await transcript(id, '?format=structured')).body;
    expect(structured).toMatchObject({ operation: 'snapshot', schema_version: 'session.structured.v1' });
    expect(structured.history.tail_state).toMatchObject({ activity: 'idle', open_tool_call_ids: [] });
    const raw = (await transcript(id, '?format=raw')).body;
    expect(raw.messages.length).toBeGreaterThan(3);
    expect(raw.entries.reduce((n: number, { frames }: { frames: number }) => n + frames, 0)).toBe(raw.messages.length);
    await Promise.all([stream.close(), resumed.close()]);
    await a.post(path(`session/${id}/close`));
  });

  it('tell questions as they come and go, and end with the session', async () => {
    const id = await make();
    const streams = await Promise.all(
      ['conversation', 'raw', 'structured'].map((format) => follow(1, `session/${id}/stream?format=${format}`)),
    );
    await say(id, 'ask');
    const asked = await Promise.all(streams.map((s) => s.until((f) => f.event === 'pending')));
    const late = await follow(0, `session/${id}/stream`);
    expect((await late.until((f) => f.event === 'pending')).data.request_id).toBe(asked[0]!.data.request_id);
    expect(await a.post(path(`session/${id}/respond`), { action: asked[0]!.data.choices[0].id })).toMatchObject({ status: 202 });
    for (const s of [...streams, late]) await s.until((f) => f.event === 'pending_cleared');
    await settled(id, 'chosen');
    expect(await a.post(path(`session/${id}/close`))).toMatchObject({ status: 200 });
    await Promise.all([...streams, late].map((s) => s.untilEnd()));
    const over = await follow(1, `session/${id}/stream`);
    await over.untilEnd();
    expect(over.response.headers.get('svc-session-status')).toBe('stopped');
    expect(folded(over.frames).some((text) => text.includes('chosen'))).toBe(true);
    await Promise.all([...streams, late, over].map((s) => s.close()));
  });

  it('are what agents say', async () => {
    expect((await a.get(path('agent/loopback/output'))).status).toBe(404);
    expect((await a.get(path('agent/nobody/output'))).status).toBe(404);
    const id = await make({ kind: 'agent', name: 'loopback', message: 'hello' });
    await settled(id, 'echo: hello');
    const output = (await a.get(path('agent/loopback/output'))).body;
    expect(output).toMatchObject({ agent: 'loopback', format: 'conversation', session_id: id });
    expect(texts(output.turns as { text: string }[])).toContain('echo: hello');
    const stream = await follow(1, 'agents/loopback/output/stream');
    await say(id, 'again');
    await stream.untilAll((frames) => folded(frames).includes('echo: again'));
    await stream.close();
    await a.post(path(`session/${id}/close`));
    const after = await follow(0, 'agent/loopback/output/stream');
    expect(after.response.headers.get('svc-agent-status')).toBe('stopped');
    await after.untilAll((frames) => folded(frames).includes('echo: again'));
    await after.close();
  });

  it('refuse what cannot be', async () => {
    const id = await make();
    for (const query of ['?format=nonsense', '?tail=-1', '?before=x&after=y', '?what=1'])
      expect((await transcript(id, query)).status).toBe(422);
    expect((await transcript(id, '?before=x')).body.code).toBe('transcript-cursor-invalidated');
    expect((await transcript('nothing')).status).toBe(404);
    for (const [position, status] of [
      ['x', 400],
      ['99999999', 410],
    ] as const) {
      const stream = await follow(0, `session/${id}/stream`, position);
      expect(stream.response.status).toBe(status);
      await stream.close();
    }
    expect((await b.get(path(`session/${id}/agents`))).body).toEqual({ agents: [] });
    expect((await b.get(path(`session/${id}/agents/x`))).status).toBe(404);
    expect((await b.get(path(`session/${id}/agents/a%2Fb`))).status).toBe(400);
    await a.post(path(`session/${id}/close`));
  });
});
