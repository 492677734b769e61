import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import type { Run, Step } from './view.js';
import { drawingOn } from './watch.command.js';

const run = (status: Run['status']): Run =>
  ({ run_id: 'al-1', title: 'R', status, scope: { kind: 'city', ref: 'alpha' }, progress: { total: 2, active: 0, closed: 0 } }) as Run;
const step = (id: string, status: Step['status']): Step => ({ id, title: id, status, kind: 'step', ref: id, needs: [] }) as unknown as Step;
const at = (status: Run['status'], ...states: Step['status'][]) => ({
  run: run(status),
  steps: states.map((each, n) => step(`s${n + 1}`, each)),
});
const TREE = 'al-1 [pending] R\n├─ ○ s1 [pending] s1\n└─ ○ s2 [pending] s2\n';

describe('a run that is watched', () => {
  it('is drawn over itself on a terminal', async () => {
    const io = fakeIo({ interactive: true, width: 80, height: 24 });
    const draw = drawingOn(io);
    await draw(at('pending', 'pending', 'pending'));
    await draw(at('active', 'completed', 'pending'));
    expect(io.stdout).toBe(`${TREE}\u001b[3A\u001b[Jal-1 [active] R\n├─ ✓ s1 [completed] s1\n└─ ○ s2 [pending] s2\n`);
  });

  it('is a line a change where it has no room, and from when it has outgrown the terminal', async () => {
    const low = fakeIo({ interactive: true, width: 80, height: 3 });
    const draw = drawingOn(low);
    await draw(at('pending', 'pending', 'pending'));
    await draw(at('active', 'completed', 'pending'));
    expect(low.stdout).toBe(`${TREE}s1 [completed] s1\n`);
    const grown = fakeIo({ interactive: true, width: 80, height: 4 });
    const growing = drawingOn(grown);
    await growing(at('pending', 'pending', 'pending'));
    await growing(at('active', 'completed', 'pending', 'pending'));
    await growing(at('completed', 'completed', 'completed', 'pending'));
    expect(grown.stdout).not.toContain('\u001b');
    expect(grown.stdout.slice(TREE.length)).toBe(
      'al-1 [active] R\n├─ ✓ s1 [completed] s1\n├─ ○ s2 [pending] s2\n└─ ○ s3 [pending] s3\ns2 [completed] s2\nal-1 [completed] R\n',
    );
  });
});
