import { describe, expect, it } from '@jest/globals';
import { TreeFailure } from '../trees/file-tree.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import { compose } from './compose.js';
import { NamedPacks } from './testing/city.js';

describe('the script of sessions', () => {
  it('may lie in a folder that cannot be looked at: nothing is said', async () => {
    class Closed extends MemoryTree {
      override async list(path: string): ReturnType<MemoryTree['list']> {
        if (path === 'bin') throw new TreeFailure(path, 'leads out of the city');
        return super.list(path);
      }
    }
    const tree = new Closed({ 'city.toml': '[workspace]\nstart_command = "exec:bin/run"\n' });
    const { config, issues } = await compose({ tree, packs: new NamedPacks({}), cityName: 'harbor' });
    expect(issues).toEqual([]);
    expect(config).toBeDefined();
  });

  it('is looked for in at most 100 places', async () => {
    let lists = 0;
    class Counting extends MemoryTree {
      override async list(path: string): ReturnType<MemoryTree['list']> {
        if (path.startsWith('bin/')) lists++;
        return super.list(path);
      }
    }
    const agents = Array.from({ length: 150 }, (_, n) => `[[agent]]\nname = "a${n}"\nstart_command = "exec:bin/${n}/run"\n`);
    const tree = new Counting({ 'city.toml': `[workspace]\nstart_command = "x"\n${agents.join('')}` });
    const { issues } = await compose({ tree, packs: new NamedPacks({}), cityName: 'harbor' });
    expect(lists).toBe(100);
    expect(issues).toHaveLength(100);
  });
});
