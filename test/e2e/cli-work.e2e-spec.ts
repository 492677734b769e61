import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, startSvc, svc, type CliOptions, type CliRun } from '../support/cli.js';
import { api, type Api } from '../support/http.js';

/** The work of a city through the client: what it writes at one replica is read at the other. */
let stack: Stack;
let other: Api;
const CITY = '/v0/city/alpha';

const run = (args: readonly string[], { env, ...options }: CliOptions = {}): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha', ...env }, ...options });

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
const id = async (...args: string[]): Promise<string> => {
  const stdout = await ok(...args);
  expect(stdout).toMatch(/^al-\d+\n$/);
  return stdout.trim();
};
const rows = (stdout: string): any[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const read = async (path: string): Promise<any> => {
  const { status, body } = await other.get(`${CITY}${path}`);
  expect([path, status]).toEqual([path, 200]);
  return body;
};
/** How many events of beads there are: agents that are given work have events of their own, at any time. */
const told = async (): Promise<number> => {
  const { items } = (await other.get(`${CITY}/events?after_seq=0&limit=1000`)).body as { items: { type: string }[] };
  return items.filter(({ type }) => type.startsWith('bead.')).length;
};

beforeAll(async () => {
  stack = await startStack();
  other = api(stack.urls[1]!);
  const created = await run(['city', 'create', 'alpha', '--provider', 'loopback']);
  expect([created.code, created.stderr.includes('svc')]).toEqual([0, false]);
});
afterAll(async () => {
  killSvc();
  await stack?.stop();
});

describe('svc bead', () => {
  it('says what to do where there is nothing, and nothing to a program', async () => {
    const [text, json] = await Promise.all([run(['bead', 'list', '--label', 'none']), run(['bead', 'list', '--label', 'none', '--json'])]);
    expect(text).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^no open beads match; make one with .*, or see closed ones with --all$/m),
    });
    expect(json).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('makes, lists, shows and changes beads', async () => {
    const first = await id(
      'bead',
      'create',
      'Fix the login page',
      '--type',
      'bug',
      '--priority',
      '1',
      '--label',
      'web',
      '--metadata',
      'a=1',
    );
    const piped = await run(['bead', 'create', 'Write it down', '--description-file', '-', '--label', 'web', '--json'], {
      input: 'one\ntwo\n',
    });
    const second = rows(piped.stdout)[0];
    expect([piped.code, second.description]).toEqual([0, 'one\ntwo\n']);
    const third = await id(
      'bead',
      'create',
      'Deploy',
      '--blocked-by',
      first,
      '--blocked-by',
      second.id,
      '--label',
      'web',
      '--parent',
      first,
    );
    expect(await read(`/bead/${third}`)).toMatchObject({ status: 'open', is_blocked: true, parent: first });
    expect((await read(`/bead/${third}`)).defer_until).toBeUndefined();

    const table = await ok('bead', 'list', '--label', 'web');
    expect(table.split('\n')[0]).toMatch(/^ID +STATUS +P +TYPE +AGE +TITLE$/);
    expect(table).toMatch(
      new RegExp(`\n${third} +open, blocked +task +\\S+ +Deploy\n${second.id} .*\n${first} +open +1 +bug +\\S+ +Fix the login page\n$`),
    );
    const lines = await ok('bead', 'list', '--label', 'web', '--json');
    expect(rows(lines)).toEqual((await read('/beads?label=web')).items);
    const shown = await ok('bead', 'show', third);
    expect(shown).toMatch(new RegExp(`^id: +${third}\ntitle: +Deploy\nstatus: +open, blocked\nblocked by: +${first}, ${second.id}\n`));
    expect(shown).toMatch(new RegExp(`depends on +${first} +blocks +blocks +open +Fix the login page`));
    expect(await ok('bead', 'graph', first)).toBe(
      `${first} [open] Fix the login page\n└─ ${third} [open, blocked] Deploy (after ${first})\n`,
    );

    expect(await ok('bead', 'update', first, '--priority', '0', '--add-label', 'urgent', '--metadata', 'a=', '--if-match', '1')).toBe(
      `${first} is updated\n`,
    );
    expect(await read(`/bead/${first}`)).toMatchObject({ priority: 0, labels: ['web', 'urgent'], revision: 2 });
    const stale = await run(['bead', 'update', first, '--title', 'x', '--if-match', '1']);
    expect([stale.code, stale.stdout, stale.stderr]).toEqual([
      4,
      '',
      `svc bead update: revision_mismatch: bead ${first} is at revision 2, expected 1\n`,
    ]);
    expect(await ok('bead', 'label', 'set', first, 'web')).toBe(`${first} has labels web\n`);

    const some = await run(['bead', 'close', first, 'al-none', second.id, '--reason', 'done']);
    expect([some.code, some.stdout]).toEqual([1, `${first} is closed\n${second.id} is closed\n`]);
    expect(some.stderr).toMatch(/^svc bead close: not_found: bead al-none not found\nsvc bead close: 1 of 3 failed, the rest is done\n$/);
    const ready = rows(await ok('bead', 'ready', '--label', 'web', '--json'));
    expect(ready.map((bead) => bead.id)).toEqual([third]);
    const cycle = await run(['bead', 'dep', 'add', first, third]);
    expect([cycle.code, cycle.stderr]).toEqual([4, expect.stringMatching(/^svc bead dep add: conflict: /)]);
    expect(await ok('bead', 'dep', 'remove', third, first)).toContain(`${third} does not depend on ${first}`);
    expect(await ok('bead', 'reopen', first)).toBe(`${first} was opened again\n`);
    expect(await ok('bead', 'delete', first, '--hard', '--force')).toBe(`${first} is deleted\n`);
    expect((await other.get(`${CITY}/bead/${first}`)).status).toBe(404);
  });

  it('makes one bead of a repeated create, and walks pages to the limit', async () => {
    const again = ['bead', 'create', 'Once', '--label', 'once', '--idempotency-key', 'cli-once'];
    expect(await id(...again)).toBe(await id(...again));
    for (let n = 0; n < 4; n++) await other.post(`${CITY}/beads`, { title: `many ${n}`, labels: ['once'] });
    const two = await run(['bead', 'list', '--label', 'once', '--limit', '2', '--json']);
    expect([rows(two.stdout).length, two.stderr]).toEqual([2, 'svc bead list: 2 of 5 beads shown; --limit 0 shows all\n']);
    expect(rows(await ok('bead', 'list', '--label', 'once', '--limit', '0', '--json'))).toHaveLength(5);
  });

  it('claims for one, tells the others who has it, keeps and gives back', async () => {
    const bead = await id('bead', 'create', 'Wanted');
    const racers = await Promise.all(['ann', 'bob', 'cid'].map((who) => run(['bead', 'claim', bead, '--assignee', who])));
    const won = racers.filter(({ code }) => code === 0);
    expect(won).toHaveLength(1);
    const [, owner, fence] = /is claimed by (\w+) until .* \(fence (\d+)\)\n$/.exec(won[0]!.stdout)!;
    expect(await ok('bead', 'show', bead)).toMatch(new RegExp(`^claim: +fence ${fence}, attempt 1, leased until \\S+Z$`, 'm'));
    const [shown] = (await ok('bead', 'show', bead, '--json')).split('\n');
    expect(JSON.parse(shown!).claim).toEqual({ fence: Number(fence), attempts: 1, lease_until: expect.stringMatching(/Z$/) });
    for (const { code, stdout, stderr } of racers.filter((result) => result.code !== 0)) {
      expect([code, stdout]).toEqual([4, '']);
      expect(stderr).toContain(`svc bead claim: conflict: bead ${bead} is owned by ${owner}; see \`svc bead show ${bead}\``);
    }
    expect(await ok('bead', 'heartbeat', bead, '--assignee', owner!, '--fence', fence!)).toMatch(/is yours until /);
    const env = { SVC_AGENT: owner! };
    expect(await run(['bead', 'release', bead, '--fence', fence!, '--reason', 'lunch'], { env })).toEqual({
      code: 0,
      stdout: `${bead} is released\n`,
      stderr: '',
    });
    await ok('bead', 'claim', bead, '--assignee', owner!);
    expect(await ok('bead', 'show', bead)).toMatch(/^claim: +fence 3, attempt 2, leased until /m);
    const lost = await run(['bead', 'heartbeat', bead, '--fence', fence!], { env });
    expect([lost.code, lost.stderr]).toEqual([4, expect.stringContaining('the claim is lost')]);
  });
});

describe('svc sling and svc hook', () => {
  it('rehearses without a trace, slings, and hands the work out once', async () => {
    const bead = await id('bead', 'create', 'To be slung');
    const before = await told();
    const rehearsal = await ok('sling', 'mayor', bead, '--dry-run');
    expect(rehearsal).toMatch(new RegExp(`^${bead} would be slung to mayor \\(convoy al-\\d+\\)\n  bead.created `));
    expect(await told()).toBe(before);
    expect(await ok('sling', 'mayor', bead)).toMatch(new RegExp(`^${bead} is slung to mayor \\(convoy al-\\d+\\)\n$`));
    expect(await ok('sling', 'mayor', bead)).toContain(`${bead} was slung to mayor already`);
    expect(await ok('hook', 'demand')).toBe('ROUTE  READY\nmayor  1\n');
    expect(await ok('hook', 'show', '--agent', 'mayor')).toMatch(new RegExp(`^ID .*\n${bead} +routed +open +task +To be slung\n$`));
    const env = { SVC_AGENT: 'mayor', SVC_SESSION_ID: 's-1' };
    const claimed = await run(['hook', 'claim'], { env });
    expect(claimed).toEqual({ code: 0, stdout: `${bead}\n`, stderr: expect.stringMatching(/^To be slung: yours until .*, fence \d+\n$/) });
    expect(await read(`/bead/${bead}`)).toMatchObject({ status: 'in_progress', assignee: 'mayor' });
    await ok('bead', 'close', bead);
    // Scripts of agents end by it: `bead=$(svc hook claim) || exit 0`.
    expect(await run(['hook', 'claim'], { env })).toEqual({ code: 1, stdout: '', stderr: 'svc hook claim: no work for mayor\n' });
    const answer = await run(['hook', 'claim', '--json'], { env });
    expect([answer.code, rows(answer.stdout)]).toEqual([0, [expect.objectContaining({ action: 'drain', reason: 'no_work' })]]);
  });

  it('slings a convoy whose beads wait for each other: they are offered one after the other', async () => {
    const first = await id('bead', 'create', 'Lay the ground');
    const second = await id('bead', 'create', 'Build on it', '--blocked-by', first);
    const convoy = await id('convoy', 'create', 'A house', first, second);
    const slung = await run(['sling', 'mayor', '--convoy', convoy]);
    expect([slung.code, slung.stderr]).toEqual([0, '']);
    expect(slung.stdout).toMatch(new RegExp(`^${second} +slung +${convoy} +bead ${second} is blocked by ${first}$`, 'm'));
    const alone = await run(['sling', 'mayor', convoy]);
    expect(alone.stderr).toBe(`svc sling: ${convoy} is a convoy: sling its open members with \`svc sling mayor --convoy ${convoy}\`\n`);
    expect(await read(`/bead/${second}`)).toMatchObject({ is_blocked: true, metadata: { 'gc.routed_to': 'mayor' } });
    expect(await ok('bead', 'ready')).not.toContain(second);
    await ok('bead', 'close', first);
    expect(await ok('bead', 'ready')).toContain(second);
    await ok('bead', 'close', second);
  });

  it('tells of every bead of a batch how it went, and fails when one was refused', async () => {
    const [free, owned] = await Promise.all([id('bead', 'create', 'Free'), id('bead', 'create', 'Owned', '--assignee', 'dan')]);
    const refused = await run(['sling', 'mayor', owned]);
    expect([refused.code, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toContain(`svc sling: conflict: bead ${owned} is owned by dan`);
    const before = await told();
    const atomic = await run(['sling', 'mayor', free, owned, '--atomic']);
    expect([atomic.code, atomic.stdout, await told()]).toEqual([4, '', before]);
    const batch = await run(['sling', 'mayor', free, owned]);
    expect([batch.code, batch.stderr]).toEqual([1, 'svc sling: 1 of 2 refused\n']);
    expect(batch.stdout).toMatch(
      new RegExp(`^BEAD .*\n${free} +slung +al-\\d+\n${owned} +refused +conflict: bead ${owned} is owned by dan`),
    );
    const taken = await run(['sling', 'mayor', owned, '--reassign', '--json']);
    expect([taken.code, taken.stderr]).toEqual([0, `svc sling: warning: bead ${owned} was taken from dan\n`]);
    expect(rows(taken.stdout)).toEqual([expect.objectContaining({ status: 'slung', changed: true })]);
    expect((await read(`/bead/${owned}`)).assignee).toBeUndefined();
  });
});

describe('svc convoy', () => {
  it('follows beads until the last is closed, or until its owner lands it', async () => {
    const [a, b] = await Promise.all([id('bead', 'create', 'Part a'), id('bead', 'create', 'Part b')]);
    const convoy = await id('convoy', 'create', 'Release', a, b, '--notify', 'human', '--target', 'main');
    expect(await ok('convoy', 'check', convoy)).toBe('0 of 2 closed\n');
    expect(await ok('convoy', 'show', convoy)).toMatch(/progress: +0 of 2 closed\nnotify: +human\ntarget: +main\n/);
    expect(await ok('convoy', 'list', '--stranded')).toMatch(new RegExp(`${convoy} +open .*Release\n`));
    await ok('bead', 'close', a, b);
    expect(await ok('convoy', 'check', convoy)).toBe('2 of 2 closed, complete\n');
    expect((await read(`/bead/${convoy}`)).status).toBe('closed');
    const closed = await run(['convoy', 'add', convoy, a]);
    expect([closed.code, closed.stderr]).toEqual([4, expect.stringContaining(`svc convoy add: conflict: convoy ${convoy} is closed`)]);

    const owned = await id('convoy', 'create', 'Migration', '--owned');
    const member = await id('bead', 'create', 'Part c');
    expect(await ok('convoy', 'add', owned, member)).toBe(`${member} added to ${owned}\n`);
    const early = await run(['convoy', 'land', owned]);
    expect([early.code, early.stderr]).toEqual([4, expect.stringContaining(member)]);
    expect(await ok('convoy', 'remove', owned, member)).toBe(`${member} removed from ${owned}\n`);
    expect(await ok('convoy', 'land', owned, '--force')).toContain(`${owned} has landed`);
  });
});

describe('svc mail', () => {
  it('sends, lists, shows, answers and puts away', async () => {
    const send = [
      'mail',
      'send',
      'mayor',
      '--subject',
      'Look at this',
      '--body-file',
      '-',
      '--from',
      'human',
      '--idempotency-key',
      'cli-mail',
    ];
    const [once, twice] = [await run(send, { input: 'one\ntwo' }), await run(send, { input: 'one\ntwo' })];
    const message = once.stdout.trim();
    expect([once.code, twice.stdout]).toEqual([0, once.stdout]);
    expect(await ok('mail', 'inbox', '--agent', 'mayor')).toMatch(
      new RegExp(`^ID +STATE +FROM +TO +AGE +SUBJECT\n${message} +unread +human +mayor +\\S+ +Look at this\n$`),
    );
    expect(await ok('mail', 'show', message)).toMatch(/state: +unread\n(.*\n)*\n {2}one\n {2}two\n$/);
    expect((await read('/mail/count?agent=mayor')).unread).toBe(1);
    expect(await ok('mail', 'read', message)).toMatch(/state: +read\n/);
    expect(await ok('mail', 'count', '--agent', 'mayor')).toBe('unread:  0\ntotal:   1\n');
    expect(await run(['mail', 'list', '--agent', 'mayor'])).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^no unread mail/),
    });
    const answer = await id('mail', 'reply', message, '--body', 'Done.', '--from', 'mayor');
    const thread = rows(await ok('mail', 'thread', message, '--json'));
    expect(thread.map((m) => [m.id, m.from, m.to, m.subject])).toEqual([
      [message, 'human', 'mayor', 'Look at this'],
      [answer, 'mayor', 'human', 'Re: Look at this'],
    ]);
    expect(await ok('mail', 'archive', message, answer)).toBe(`${message} is archived\n${answer} is archived\n`);
    expect(rows(await ok('mail', 'inbox', '--archived', '--json'))).toHaveLength(2);
    const gone = await run(['mail', 'show', message]);
    expect([gone.code, gone.stderr]).toEqual([3, `svc mail show: not_found: message ${message} not found\n`]);
    const unknown = await run(['mail', 'send', 'nobody', '--subject', 'x']);
    expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringMatching(/^svc mail send: invalid: /)]);
    expect(await ok('mail', 'broadcast', '--subject', 'Freeze', '--to', 'mayor', '--to', 'human')).toMatch(
      /^al-\d+ to mayor\nal-\d+ to human\n$/,
    );
    const decide = await id('bead', 'create', 'Decide', '--assignee', 'human', '--priority', '1');
    expect(await ok('inbox', '--in', 'alpha')).toMatch(
      new RegExp(
        `^KIND +CITY +ID +FROM +PRIORITY +AGE +TITLE\n(mail .*\n)*mail +alpha +al-\\d+ +\\S+ +\\S+ +Freeze\nbead +alpha +${decide} +(\\S+ +)?P1 +\\S+ +Decide\n$`,
      ),
    );
    expect(rows(await ok('inbox', '--kind', 'bead', '--json')).map((one) => [one.kind, one.id])).toEqual([['bead', decide]]);
    expect((await run(['inbox', '--kind', 'cat'])).stderr).toBe('svc inbox: --kind: is one of bead and mail\n');
    expect(await ok('mail', 'settings', '--unread-retention', '30d')).toBe('unread mail is kept:  720h\n');
    expect(await read('/mail/settings')).toEqual({ unread_retention: '720h' });
    expect(await ok('mail', 'settings', '--unread-retention', 'off')).toBe('unread mail is kept:  for ever\n');
  });
});

describe('svc wait', () => {
  // Of somebody who is no session here and takes it up by himself: those of sessions are delivered.
  it('is ready when its beads are closed, and taken up once', async () => {
    const [a, b] = await Promise.all([id('bead', 'create', 'Wait a'), id('bead', 'create', 'Wait b')]);
    const wait = await id('wait', 'create', '--session', 'script', '--for', a, '--for', b, '--note', 'both done', '--timeout', '2h');
    expect(await ok('wait', 'list')).toMatch(new RegExp(`^ID .*\n${wait} +pending +script +deps +${a}, ${b} +\\S+ +both done\n$`));
    await ok('bead', 'close', a, b);
    const [ready] = rows(await ok('wait', 'show', wait, '--json'));
    expect(ready).toMatchObject({ state: 'ready', nudge_id: expect.stringContaining(wait) });
    const wrong = await run(['wait', 'accept', wait, '--nudge-id', 'wrong']);
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringMatching(/^svc wait accept: conflict: /)]);
    expect(await ok('wait', 'accept', wait, '--nudge-id', ready.nudge_id)).toBe(`${wait} is closed\n`);
    expect(await run(['wait', 'list'])).toEqual({ code: 0, stdout: '', stderr: 'nobody waits\n' });
    const manual = await id('wait', 'create', '--session', 'script', '--manual');
    expect(await ok('wait', 'cancel', manual, '--reason', 'done otherwise')).toBe(`${manual} is canceled\n`);
    expect(await ok('wait', 'ready', manual)).toMatch(new RegExp(`^al-\\d+ is ready, a new wait in place of ${manual}\n$`));
  });
});

describe('svc why, svc top, and what is shown of the log', () => {
  it('says what a bead, a convoy, a session and an agent wait for, and what would end it', async () => {
    const [first, second] = [await id('bead', 'create', 'The ground'), await id('bead', 'create', 'The walls')];
    await ok('bead', 'dep', 'add', second, first);
    expect(await ok('why', second)).toMatch(
      new RegExp(
        `^bead ${second}: open, blocked\\n  it waits for ${first} \\(open, blocks\\): The ground\\n    ended by: svc why ${first}\\n$`,
      ),
    );
    const later = await id('bead', 'create', 'The roof', '--defer', '2h');
    expect(JSON.parse(await ok('why', later, '--json'))).toMatchObject({
      kind: 'bead',
      state: 'open, deferred',
      reasons: [{ what: 'it is deferred', until: expect.stringMatching(/Z$/), ends: [`svc bead update ${later} --no-defer`] }],
    });
    await ok('bead', 'claim', first, '--assignee', 'mayor');
    expect(await ok('why', first)).toMatch(/ {2}mayor works on it, until \S+Z \(.*\)\n {4}ended by: .*the end of the lease/);
    const convoy = (await ok('convoy', 'create', 'The house', first, second, '-o', 'name')).trim();
    expect(await ok('why', convoy)).toContain('2 of 2 members are open');
    expect(await ok('why', 'mayor')).toMatch(/^agent mayor: \S+\n {2}\S/);
    const none = await run(['why', 'nobody']);
    expect([none.code, none.stderr]).toEqual([3, 'svc why: no bead, agent or session is called nobody\n']);
    const shown = await ok('bead', 'show', second);
    expect(shown).toMatch(/\nwhy:\n {2}it waits for /);
    expect(shown).toMatch(/\nlast events:\n {2}\d+s ago {2}bead\.created/);
    expect(await ok('top', '--no-city', '-o', 'name')).toContain('alpha\n');
    expect(JSON.parse(await ok('top', '-o', 'json'))).toEqual(expect.any(Array));
  });

  it('follows a convoy to its end as a tree, then a line a change', async () => {
    const [first, second] = [await id('bead', 'create', 'One'), await id('bead', 'create', 'Two')];
    const convoy = (await ok('convoy', 'create', 'Both', first, second, '-o', 'name')).trim();
    const watching = startSvc(['convoy', 'watch', convoy], { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
    await watching.untilOut(new RegExp(`${convoy} \\[open\\] Both .* 0 of 2\\n├─ ○ ${first} .*\\n└─ ○ ${second} `));
    await ok('bead', 'close', first);
    await watching.untilOut(new RegExp(`✓ ${first} \\[closed\\] One`));
    await ok('bead', 'close', second);
    const { code, stdout } = await watching.exited;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\[closed\] Both {2}█{20} 2 of 2\n$/)]);
  });

  it('goes on with a list as it changes, whichever replica changes it', async () => {
    const watching = startSvc(['bead', 'list', '--label', 'watched', '-w', '-o', 'jsonl'], {
      env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' },
    });
    const made = await other.post(`${CITY}/beads`, { title: 'seen', labels: ['watched'] });
    await watching.untilOut(new RegExp(`"id":"${made.body.id}"`));
    await other.post(`${CITY}/bead/${made.body.id}/close`, {});
    await watching.untilErr(new RegExp(`^${made.body.id} is not listed any more$`, 'm'));
    watching.interrupt();
    expect((await watching.exited).code).toBe(130);
  });
});
