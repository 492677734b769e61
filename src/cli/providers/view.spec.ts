import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { commandLine, originOf, providerDetails, publicTable } from './view.js';

describe('providers', () => {
  it('say who defines them', () => {
    expect([
      originOf({ builtin: true, city_level: false }),
      originOf({ builtin: true, city_level: true }),
      originOf({ builtin: false, city_level: true }),
    ]).toEqual(['builtin', 'city, over a builtin', 'city']);
  });

  it('show their arguments as a shell would take them', () => {
    expect(commandLine(['--flag=a', 'two words', "it's", ''])).toBe(`--flag=a 'two words' 'it'\\''s' ''`);
  });

  it('show what is written, an empty list as nothing', () => {
    const shown = providerDetails({
      name: 'team',
      builtin: false,
      city_level: true,
      args: [],
      prompt_mode: 'flag',
      prompt_flag: '-p',
      ready_delay_ms: 1_500,
      env: { A: '***' },
      option_defaults: { effort: 'high' },
    });
    expect(shown.split('\n')).toEqual([
      'name:         team',
      'defined by:   city',
      'prompt:       flag -p',
      'ready after:  1.5s',
      'options:      effort=high',
      '',
      'environment:',
      '  A=***',
      '',
    ]);
  });

  it('list what there is to choose, one option a line, chosen values before those of the option', () => {
    const option = (key: string, value: string) => ({
      key,
      label: key,
      type: 'select',
      default: value,
      choices: [
        { value, label: value },
        { value: 'other', label: 'Other' },
      ],
    });
    const providers = [
      {
        name: 'a',
        builtin: true,
        city_level: false,
        options_schema: [option('mode', 'ask'), option('effort', 'low')],
        effective_defaults: { effort: 'high' },
      },
      { name: 'b', builtin: true, city_level: false },
    ];
    expect(publicTable(providers, fakeIo())).toBe(
      'PROVIDER  OPTION  DEFAULT  CHOICES\na         mode    ask      ask, other\na         effort  high     low, other\nb\n',
    );
  });
});
