import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { cutText, TEXT_CHARACTERS } from '../../src/platform/runtime/limits.js';
import { uiViews } from './ui-views.js';

/** Ways by which a text becomes markup or a program. The policy of the page refuses them as well, when they run. */
const SINKS =
  /\b(dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|srcdoc|srcDoc|new Function|eval|DOMParser)\b/;

const sources = readdirSync('ui/src', { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.includes('.spec.'),
);

describe("the operator's page, as it is written", () => {
  it('has each of its routes in the list of views that are proven', () => {
    const routes = [...readFileSync('ui/src/app/router.tsx', 'utf8').matchAll(/^ {2}path: '([^']+)',$/gm)].map(([, path]) => path!);
    const proven = new Set(uiViews({ session: 's', bead: 'b', convoy: 'c', mail: 'm' }).map(({ route }) => route));
    expect(routes.length).toBeGreaterThan(10);
    // A city by itself is its overview; a run has to be made, which `ui-work.e2e-spec.ts` does.
    const others = ['/c/$city', '/runs/$id'];
    expect([...new Set(routes)].filter((route) => !others.includes(route) && !proven.has(route))).toEqual([]);
  });

  it('listens for the end of everything that can be asked for', () => {
    const ends = [...readFileSync('openapi/openapi.json', 'utf8').matchAll(/"const": "(request\.(?:failed|result\.[\w.]+))"/g)].map(
      ([, type]) => type!,
    );
    const heard = new Set([...readFileSync('ui/src/live/supervisor.ts', 'utf8').matchAll(/^ {2}'([\w.]+)',$/gm)].map(([, type]) => type!));
    expect(ends.length).toBeGreaterThan(10);
    expect([...new Set(ends)].filter((type) => !heard.has(type))).toEqual([]);
  });

  it('knows where the service cuts what a call would do, and what stands there', () => {
    const [, kept, cut] = /^const KEPT = (\d+) \* 1024;\nconst CUT = \/(.+)\/;$/m.exec(readFileSync('ui/src/lib/approve.ts', 'utf8'))!;
    const text = cutText('x'.repeat(TEXT_CHARACTERS + 1));
    expect(Number(kept) * 1024).toBe(TEXT_CHARACTERS);
    for (const one of [text, JSON.stringify(text)]) expect(one.slice(TEXT_CHARACTERS)).toMatch(new RegExp(cut!));
  });

  it('makes neither markup nor a program of a text, and has no style in its markup', () => {
    const found = sources.flatMap((file) => {
      const text = readFileSync(`ui/src/${file}`, 'utf8');
      return SINKS.test(text) ? [`${file}: ${SINKS.exec(text)![0]}`] : [];
    });
    expect(sources.length).toBeGreaterThan(40);
    expect(found).toEqual([]);
    expect(readFileSync('ui/index.html', 'utf8')).not.toMatch(/style=|<style|<script(?![^>]*src=)/);
  });
});
