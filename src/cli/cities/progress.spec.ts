import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { Progress, progressLine } from './progress.js';

describe('progressLine', () => {
  it('names the work, the phase and the time', () => {
    expect(progressLine('creating alpha', 'starting_agents', 2_300, 0, 80)).toBe('⠋ creating alpha: starting_agents (2.3s)');
  });

  it('never wraps: a wrapped line cannot be drawn over', () => {
    const line = progressLine('creating a-city-with-a-long-name', 'validating_agents', 2_300, 3, 30);
    expect(line).toHaveLength(29);
    expect(line.endsWith('…')).toBe(true);
  });
});

describe('Progress', () => {
  it('writes one plain line a phase where nothing can be drawn over', () => {
    const io = fakeIo();
    const progress = new Progress(io, 'creating alpha', false);
    for (const phase of ['loading_config', 'loading_config', 'starting_agents']) progress.enter(phase);
    progress.end();
    expect(io.stderr).toBe('creating alpha\ncreating alpha: loading_config\ncreating alpha: starting_agents\n');
    expect(io.stdout).toBe('');
  });

  it('draws over itself on a terminal and leaves the line empty', () => {
    const io = fakeIo({ interactive: true });
    const progress = new Progress(io, 'creating alpha', false);
    progress.enter('starting_agents');
    progress.end();
    expect(io.stderr).toContain('\r\u001b[K');
    expect(io.stderr).not.toContain('\n');
    expect(io.stderr.endsWith('\r\u001b[K')).toBe(true);
  });

  it('says nothing when it is quiet, but knows the phase', () => {
    const io = fakeIo({ interactive: true });
    const progress = new Progress(io, 'creating alpha', true);
    progress.enter('starting_agents');
    progress.end();
    expect(io.stderr).toBe('');
    expect(progress.phase).toBe('starting_agents');
  });
});
