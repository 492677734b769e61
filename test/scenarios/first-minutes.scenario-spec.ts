import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventLines, irregular } from '../support/event-lines.js';
import { removeFolders } from '../support/folders.js';
import { eventually } from '../support/sse.js';
import { User } from '../support/user.js';

/** What somebody does who has just run `npm start` for the first time, with nothing but what it printed and the help. */
describe('the first ten minutes of a new user', () => {
  let user: User;
  beforeAll(async () => {
    user = await User.arrive();
    await user.start();
  });
  afterAll(async () => {
    await user.leave();
    await removeFolders();
  });

  it('begin with the hints of the server and end with a changed configuration, every event seen once', async () => {
    // The hints work as they are printed, in another terminal, whatever the port is.
    const hints = user.banner.split('\n').flatMap((line) => /^ {2}((?:\S*bin\/svc|export) .*)$/.exec(line)?.[1] ?? []);
    expect(hints).toHaveLength(2);
    expect(await user.run(hints[0]!)).toContain('demo is running');
    const everything = user.begin(hints[1]!);

    await user.run('export PATH="$PWD/bin:$PATH" SVC_CITY=demo');
    expect(await user.run('svc health')).toContain(`${user.url}, found in ${user.dir}/.svc/server.json`);
    const watching = user.begin('svc events --follow --after 0');

    // The mayor answers, by its name and by its session's id.
    expect(await user.run('svc session send mayor hello --wait')).toBe('echo: hello\n');
    const session = (await user.run('svc session list --json')).trim();
    const { id } = JSON.parse(session) as { id: string };
    expect(await user.run(`svc session send ${id} tool --wait`)).toBe('The tool said hello.\n');

    // A piece of work goes to the mayor, who is told, and comes to its end.
    const bead = (await user.run('svc bead create "Write the parser"')).trim();
    expect(await user.run(`svc sling mayor ${bead}`)).toContain(`${bead} is slung to mayor`);
    expect(await user.run('svc hook claim --agent mayor')).toContain(bead);
    await user.run(`svc bead close ${bead} --reason shipped`);
    await user.sees('svc convoy list --all', /closed/);

    // A letter arrives, and is read.
    const letter = (await user.run('svc mail send human --from mayor --subject "Done" --body "The parser."')).trim();
    expect(await user.run('svc mail inbox --agent human')).toContain('Done');
    expect(await user.run(`svc mail read ${letter}`)).toContain('The parser.');

    // A file is changed with an editor, and counts.
    await user.run(`sed -i 's/^provider = .*/&\\nmax_active_sessions = 8/' .svc/cities/demo/city.toml`);
    await user.sees('svc config revisions', /files .* workspace\.max_active_sessions/);

    // All of it was told to whoever watched: each event once, in order.
    const expected = ['session.created', 'bead.created', 'bead.closed', 'convoy.closed', 'mail.sent', 'config.reloaded'];
    const seen = (): Set<string> => new Set(eventLines(watching.output()).map(({ type }) => type));
    await eventually(() => expected.every((type) => seen().has(type))).catch(() => undefined);
    expect([...seen()]).toEqual(expect.arrayContaining(expected));
    const head = Number(await user.run('svc events --seq'));
    await eventually(() => (eventLines(watching.output()).at(-1)?.seq ?? 0) >= head);
    expect(irregular(eventLines(watching.output()))).toEqual([]);
    await eventually(() => everything.output().includes('config.reloaded'));
  });
});
