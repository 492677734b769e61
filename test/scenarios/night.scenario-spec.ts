import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventLines, irregular } from '../support/event-lines.js';
import { removeFolders } from '../support/folders.js';
import { allEvents, CITY, city, commits, killAgents, twentyBeads } from '../support/script-agents.js';
import { eventually } from '../support/sse.js';
import { User } from '../support/user.js';

/** The server and the agents are killed while they work; nobody is there to help. */
describe('a night with crashes', () => {
  let user: User;
  beforeAll(async () => {
    user = await User.arrive();
    await user.start();
  });
  afterAll(async () => {
    await user.leave();
    await removeFolders();
  });

  it('ends with every bead done once, and each event seen once by whoever watched', async () => {
    await city(user);
    const watching = user.begin('svc events --follow --after 0');
    const seen = (): ReturnType<typeof eventLines> => eventLines(watching.output());
    const { beads, convoy } = await twentyBeads(user);
    await writeFile(join(user.dir, CITY, 'hold'), '');
    await user.run(`svc sling hand --convoy ${convoy}`);
    await user.sees(`ls ${CITY}`, /taken-/);

    // The server, with work in its agents' hands.
    await user.kill();
    await user.start();

    // The agents, before they have finished what they took, and as they begin again.
    await killAgents(user);
    await user.run(`rm ${CITY}/hold`);

    // Everything, once some of it is done.
    await eventually(() => seen().some(({ type }) => type === 'bead.closed'));
    await user.kill();
    await killAgents(user);
    await user.start();

    await user.sees(`svc convoy show ${convoy}`, /status: +closed/);
    expect((await commits(user)).sort()).toEqual(beads.map((id) => `feat: ${id}`).sort());
    const events = await allEvents(user);
    expect(irregular(events)).toEqual([]);
    const closed = events.flatMap(({ type, subject }) => (type === 'bead.closed' && beads.includes(subject ?? '') ? [subject] : []));
    expect(closed.sort()).toEqual([...beads].sort());
    await eventually(() => (seen().at(-1)?.seq ?? 0) >= events.length);
    expect(irregular(seen())).toEqual([]);
  });
});
