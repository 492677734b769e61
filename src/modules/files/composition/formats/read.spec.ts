import { describe, expect, it } from '@jest/globals';
import { describeIssue, type Issue } from '../issue.js';
import { plain, placesOf } from '../tree.js';
import { AGENT_FORMAT } from './agent.format.js';
import { CITY_FORMAT } from './city.format.js';
import { PACK_FORMAT } from './pack.format.js';
import { checkDocument } from './read.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import { readTable } from './read.js';
import type { Format } from './format.js';

function told(text: string, format: Format = CITY_FORMAT, file = 'city.toml') {
  const issues: Issue[] = [];
  const table = checkDocument(text, file, format, issues);
  return { lines: issues.map(describeIssue), issues, table, value: table === undefined ? undefined : plain(table) };
}

describe('reading a file', () => {
  it('tells everything that is wrong, at its line, in the order of the lines', () => {
    const { lines } = told(
      [
        '[workspace]',
        'max_active_sessions = "many"',
        'prefxi = "nd"',
        '[[agent]]',
        'scope = "town"',
        'name = "a"',
        '[[agent]]',
        'idle_timeout = "soon"',
      ].join('\n'),
    );
    expect(lines).toEqual([
      'city.toml:2: workspace.max_active_sessions: must be a whole number',
      'city.toml:3: workspace.prefxi: is not a known key; did you mean prefix?',
      'city.toml:5: agent[0].scope: is not one of the accepted values (accepted: city, rig)',
      'city.toml:7: agent[1].name: is required',
      'city.toml:8: agent[1].idle_timeout: is not a duration such as 90s or 1h30m; the default applies',
    ]);
  });

  it('leaves out what cannot be used and keeps the places of the rest', () => {
    const { table, value } = told('[[agent]]\nscope = "rig"\n[[agent]]\nname = "b"\nidle_timeout = "soon"\nfoo = 1\n');
    expect(value).toEqual({ agent: [{ name: 'b' }] });
    expect(placesOf(table!)).toEqual([{ path: 'agent[0].name', file: 'city.toml', at: 'agent[1].name' }]);
  });

  it('reads old names as new ones', () => {
    const { lines, value, table } = told(
      '[workspace]\nsuspended = true\n[[rigs]]\nname = "r"\nsuspended = false\nsuspended_on_start = true\n',
    );
    expect(value).toEqual({ workspace: { suspended_on_start: true }, rigs: [{ name: 'r', suspended_on_start: true }] });
    expect(placesOf(table!)[0]).toEqual({ path: 'workspace.suspended_on_start', file: 'city.toml', at: 'workspace.suspended' });
    expect(lines).toEqual([
      'city.toml:2: workspace.suspended: is the old name of suspended_on_start',
      'city.toml:5: rigs[0].suspended: is the old name of suspended_on_start, which is set as well and wins',
    ]);
  });

  it('treats unknown keys as the format says', () => {
    expect(told('[imports.core]\nsource = "x"\nversoin = "1"\n').issues).toMatchObject([
      { severity: 'error', key: 'imports.core.versoin' },
    ]);
    expect(told('[rigs_]\n').issues).toMatchObject([{ severity: 'warning', key: 'rigs_' }]);
    expect(told('[pack]\nname = "p"\nschema = 2\ncolor = "red"\n', PACK_FORMAT).issues).toMatchObject([
      { severity: 'error', key: 'pack.color' },
    ]);
    expect(told('color = "red"\nskills = ["x"]\nnudge = "go"', AGENT_FORMAT)).toMatchObject({
      issues: [{ severity: 'warning', key: 'color' }],
      value: { nudge: 'go' },
    });
  });

  it('answers nothing without a file', async () => {
    const issues: Issue[] = [];
    expect(await readTable(new MemoryTree({}), 'city.toml', CITY_FORMAT, issues)).toBeUndefined();
    expect(issues).toEqual([]);
  });
});
