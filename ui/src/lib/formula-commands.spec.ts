import { describe, expect, it } from '@jest/globals';
import { mayRun } from './formula-commands.js';

const STEP = 'formula = "greet"\n\n[[steps]]\nid = "say"\ntitle = "Say hello"\n';

describe('a formula that may say what is run', () => {
  it('has a script, by either name, or goes on from another formula', () => {
    expect(mayRun(`${STEP}\n[steps.check]\nmax_attempts = 2\n[steps.check.check]\nmode = "exec"\npath = "done.sh"\n`)).toBe(true);
    expect(mayRun(`${STEP}ralph = { max_attempts = 2, check = { mode = "exec", path = "done.sh" } }\n`)).toBe(true);
    expect(mayRun('formula = "greet"\nextends = ["base"]\n')).toBe(true);
  });

  it('is none that has only steps', () => {
    expect(mayRun(STEP)).toBe(false);
  });
});
