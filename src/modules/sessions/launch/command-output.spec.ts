import { describe, expect, it } from '@jest/globals';
import { MASK } from '../../files/composition/mask.js';
import { Tail } from '../../../platform/runtime/tail.js';
import { outputOf, READ } from './command-output.js';

const KEPT = 16 * 1024;

describe('the output of a command', () => {
  it('is both, error output last', () => {
    expect([outputOf('a', 'b'), outputOf('a\n', 'b'), outputOf('', 'b\0')]).toEqual(['a\nb', 'a\nb', 'b\uFFFD']);
  });

  // Guard: a value was shown whose name had been cut away, and of what is long only what tells itself was hidden.
  it('is masked before it is cut', () => {
    const whole = `API_KEY=${'s'.repeat(100)}\n${'x'.repeat(KEPT - 51)}`;
    expect(outputOf(whole, '')).not.toContain('ss');
    const long = outputOf(`${'line\n'.repeat(5_000)}API_KEY=secret\n`, '');
    expect(outputOf(`{"pad":"${'x'.repeat(20_000)}","api_key":"hunter2secret"}`, '')).not.toContain('hunter');
    expect([long.length, long.slice(-30)]).toEqual([KEPT, `line\nline\nline\nAPI_KEY=${MASK}\n`.slice(-30)]);
  });

  it('has nothing of a line whose beginning was not kept', () => {
    const tail = new Tail(READ);
    tail.push(Buffer.from(`API_KEY=topsecretvalue\n${'漢'.repeat(10_918)}`));
    expect(outputOf(tail.text(), '').replaceAll('漢', '')).toBe('\n');
  });
});
