import { describe, expect, it, jest } from '@jest/globals';
import { armedFailpoints, FailpointError } from './arm.js';

describe('failpoints armed by SVC_TEST_FAILPOINTS', () => {
  it.each([undefined, '', '  '])('arms nothing for %j', (text) => expect(armedFailpoints(text)).toBeUndefined());

  it('drops: the place throws', () => {
    const failpoints = armedFailpoints('notify.before=drop');
    expect(() => failpoints!.hit('notify.before')).toThrow(FailpointError);
    expect(failpoints!.hit('notify.after')).toBeUndefined();
  });

  it('delays', async () => {
    const began = performance.now();
    await armedFailpoints('tx.after_commit=delay:30:1')!.hit('tx.after_commit');
    expect(performance.now() - began).toBeGreaterThanOrEqual(25);
  });

  it('kills this process and nothing else', () => {
    const kill = jest.spyOn(process, 'kill').mockReturnValue(true);
    try {
      void armedFailpoints('operation.before_finish=kill')!.hit('operation.before_finish');
      expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
    } finally {
      kill.mockRestore();
    }
  });

  it('acts as often as the probability says', () => {
    const never = armedFailpoints('notify.before=drop:0,tx.before_commit=delay:5:0')!;
    for (let i = 0; i < 50; i++) expect(never.hit('notify.before')).toBeUndefined();
    const half = armedFailpoints('notify.before=drop:0.5')!;
    const thrown = Array.from({ length: 400 }, () => {
      try {
        void half.hit('notify.before');
        return 0;
      } catch {
        return 1;
      }
    }).reduce<number>((a, b) => a + b, 0);
    expect(thrown).toBeGreaterThan(120);
    expect(thrown).toBeLessThan(280);
  });

  it.each([
    'nowhere=kill',
    'notify.before',
    'notify.before=explode',
    'notify.before=drop:2',
    'notify.before=drop:0.1:0.1',
    'notify.before=delay',
    'notify.before=delay:1:2:3',
    'notify.before=drop,',
  ])('refuses %j', (text) => expect(() => armedFailpoints(text)).toThrow('SVC_TEST_FAILPOINTS: not understood'));
});
