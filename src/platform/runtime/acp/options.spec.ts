import { describe, expect, it } from '@jest/globals';
import { LiveOptions } from './options.js';

const MODES = {
  currentModeId: 'default',
  availableModes: [{ id: 'default', name: 'Always ask' }, { id: 'bypassPermissions' }, { id: 'plan' }],
};

describe('options of a living agent', () => {
  it('have our keys where the agent says what they are', () => {
    const live = new LiveOptions();
    live.opened(
      [
        {
          id: 'm',
          name: 'Model',
          category: 'model',
          type: 'select',
          currentValue: 'a',
          options: [{ options: [{ value: 'a' }, { value: 'b' }] }],
        },
        { id: 'think', category: 'thought_level', type: 'select', currentValue: 'low', options: [{ value: 'low' }, { value: 'high' }] },
        { id: 'fast', type: 'boolean', currentValue: true },
      ],
      MODES,
    );
    expect(live.list().map(({ key, current, choices }) => [key, current, choices.map(({ value }) => value).join()])).toEqual([
      ['model', 'a', 'a,b'],
      ['effort', 'low', 'low,high'],
      ['fast', 'true', 'true,false'],
      ['permission_mode', 'default', 'default,bypassPermissions,plan'],
    ]);
    expect(live.change('model', 'b')).toEqual({ method: 'session/set_config_option', params: { configId: 'm', value: 'b' } });
    expect(live.change('m', 'b')).toEqual(live.change('model', 'b'));
    expect(live.change('fast', 'false')).toEqual({
      method: 'session/set_config_option',
      params: { configId: 'fast', value: false, type: 'boolean' },
    });
    expect(live.change('model', 'c')).toBeUndefined();
    expect(live.change('temperature', '1')).toBeUndefined();
  });

  it('are the modes of an older agent, under our words for them', () => {
    const live = new LiveOptions();
    live.opened(undefined, MODES);
    expect(live.change('permission_mode', 'plan')).toEqual({ method: 'session/set_mode', params: { modeId: 'plan' } });
    expect(live.change('permission_mode', 'unrestricted')).toEqual({ method: 'session/set_mode', params: { modeId: 'bypassPermissions' } });
    expect(live.change('permission_mode', 'auto-edit')).toBeUndefined();
    expect(live.change('permission_mode', 'constructor')).toBeUndefined();
  });

  it('prefer an option for the mode to the modes', () => {
    const live = new LiveOptions();
    live.opened(
      [{ id: 'mode', category: 'mode', type: 'select', currentValue: 'plan', options: [{ value: 'plan' }, { value: 'yolo' }] }],
      MODES,
    );
    expect(live.list()).toHaveLength(1);
    expect(live.change('permission_mode', 'unrestricted')).toMatchObject({ params: { configId: 'mode', value: 'yolo' } });
    live.modeIs('yolo');
    expect(live.current('permission_mode')).toBe('yolo');
  });

  it('are none where none are offered', () => {
    const live = new LiveOptions();
    live.modeIs('plan');
    expect([live.list(), live.current('model'), live.change('permission_mode', 'plan')]).toEqual([[], undefined, undefined]);
  });
});
