import { describe, expect, it } from '@jest/globals';
import { createElement, type ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { DRAWN, useDrawn } from './drawn.js';

/** Draws it, after somebody has asked for more so many times. */
function of(count: number, asked = 0): string {
  let times = 0;
  const List = (): ReactNode => {
    const { drawn, left, more } = useDrawn(Array.from({ length: count }, (_, i) => i));
    if (times++ < asked) more();
    return `${drawn.length} from ${drawn[0]}, ${left} left`;
  };
  return renderToStaticMarkup(createElement(List));
}

describe('a long list', () => {
  it('is drawn as far as a page can bear, and further when somebody asks', () => {
    expect(of(DRAWN)).toBe(`${DRAWN} from 0, 0 left`);
    expect(of(20_000)).toBe(`${DRAWN} from 0, ${20_000 - DRAWN} left`);
    expect(of(20_000, 2)).toBe(`${3 * DRAWN} from 0, ${20_000 - 3 * DRAWN} left`);
  });
});
