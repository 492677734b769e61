import { describe, expect, it } from '@jest/globals';
import { describeIssue } from '../issue.js';
import { TreeFailure } from '../trees/file-tree.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import { compose } from './compose.js';
import { NamedPacks, START, type Files } from './testing/city.js';

/** A city in which one file is there and cannot be read. */
class Unreadable extends MemoryTree {
  constructor(
    files: Files,
    private readonly path: string,
  ) {
    super(files);
  }

  override async read(path: string): Promise<string | undefined> {
    if (path === this.path) throw new TreeFailure(path, 'is not UTF-8');
    return super.read(path);
  }
}

const FILES = {
  'city.toml': `${START}global_fragments = ["rules", "ruels"]\n`,
  'agents/a/prompt.md': 'Do it.',
  'template-fragments/house.template.md': '{{define "rules"}}Be exact.{{end}}',
  'template-fragments/more.template.md': '{{define "ruels"}}Be quick.{{end}}',
};

describe('a prompt fragment that cannot be read', () => {
  it('is a warning, says nothing of names that it may have, and leaves the city usable', async () => {
    const tree = new Unreadable(FILES, 'template-fragments/more.template.md');
    const { config, issues } = await compose({ tree, packs: new NamedPacks({}), cityName: 'harbor' });
    expect(issues.map((issue) => `${issue.severity} ${describeIssue(issue)}`)).toEqual([
      'warning template-fragments/more.template.md: is not UTF-8',
    ]);
    expect(config).toBeDefined();
  });

  it('is not looked at by a city that asks for none', async () => {
    const files = { ...FILES, 'city.toml': START };
    const tree = new Unreadable(files, 'template-fragments/more.template.md');
    const { issues } = await compose({ tree, packs: new NamedPacks({}), cityName: 'harbor' });
    expect(issues).toEqual([]);
  });
});
