import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { buildProgram } from '../../../../cli/program.js';
import { fakeIo } from '../../../../cli/testing/io.js';
import { AGENT_FORMAT } from '../formats/agent.format.js';
import { DOCTOR_FORMAT, FORMULA_FORMAT } from '../formats/files.format.js';
import type { Format } from '../formats/format.js';
import { ORDER_FORMAT } from '../formats/order.format.js';
import { PACK_FORMAT } from '../formats/pack.format.js';
import { readTable } from '../formats/read.js';
import type { Issue } from '../issue.js';
import type { Table } from '../tree.js';
import { DiskTree } from '../trees/disk-tree.js';
import { builtinPacksDirectory } from './builtin.js';

const tree = new DiskTree(path.join(builtinPacksDirectory(), 'core'));

async function valid(file: string, format: Format): Promise<Table> {
  const issues: Issue[] = [];
  const table = await readTable(tree, file, format, issues);
  expect(issues).toEqual([]);
  return table!;
}

describe('the shipped pack core', () => {
  it('is a pack with an agent, a formula, an order and a check', async () => {
    expect((await valid('pack.toml', PACK_FORMAT)).table('pack')?.text('name')).toBe('core');
    const worker = await valid('agents/worker/agent.toml', AGENT_FORMAT);
    const formula = worker.text('default_sling_formula')!;
    expect((await valid(`formulas/${formula}.toml`, FORMULA_FORMAT)).text('formula')).toBe(formula);
    const order = await valid('orders/daily-digest.toml', ORDER_FORMAT);
    expect(await tree.read(order.table('order')!.text('exec')!)).toMatch(/^#!\/bin\/sh/);
    await valid('doctor/has-git/doctor.toml', DOCTOR_FORMAT);
    for (const fragment of worker.texts('append_fragments')!)
      expect(await tree.read('template-fragments/asking.template.md')).toContain(`{{ define "${fragment}" }}`);
  });

  it('sends the lists of a digest as they stand, whatever they are shown with', () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'svc-digest-'));
    try {
      // Stands in for the client: lists two beads, and keeps the text that is sent.
      const client = `#!/bin/sh
        if [ "$1" = bead ]; then printf 'ID     TITLE\\nal-1   *one*\\nal-22  two\\n'; exit; fi
        while [ "$1" != --body-file ]; do shift; done
        cp "$2" '${dir}/sent'`;
      writeFileSync(path.join(dir, 'svc'), client, { mode: 0o755 });
      execFileSync('sh', [path.join(builtinPacksDirectory(), 'core/assets/daily-digest.sh')], {
        env: { ...process.env, PATH: `${dir}:${process.env.PATH}` },
      });
      const table = '    ID     TITLE\n    al-1   *one*\n    al-22  two\n';
      expect(readFileSync(path.join(dir, 'sent'), 'utf8')).toContain(`Finished since yesterday:\n\n${table}\n`);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('tells agents only of commands that exist, with options that they have', async () => {
    const program = buildProgram(fakeIo());
    let checked = 0;
    for (const [file] of await tree.digests('')) {
      for (const [, line] of ((await tree.read(file)) ?? '').matchAll(/(?:`|\(|^\s*)svc ((?:[a-z]+ ?)+[^`\n]*)/gm)) {
        const words = line!.split(/\s+/);
        let command = program.commands.find((candidate) => candidate.name() === words[0]);
        expect([file, line, command?.name()]).toEqual([file, line, words[0]]);
        const inner = command!.commands.find((candidate) => candidate.name() === words[1]);
        if (command!.commands.length > 0) expect([file, line, inner?.name()]).toEqual([file, line, words[1]]);
        command = inner?.commands.find((candidate) => candidate.name() === words[2]) ?? inner ?? command;
        const known = command!.options.map((option) => option.long);
        for (const [option] of line!.replace(/"[^"]*"/g, '').matchAll(/--[a-z-]+/g))
          expect([line, known]).toEqual([line, expect.arrayContaining([option])]);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(12);
  });
});
