import { describe, expect, it } from '@jest/globals';
import { plain, visible } from './text.js';

const point = (code: number): string => String.fromCodePoint(code);

describe('what is shown of a text', () => {
  it('says what cannot be seen', () => {
    expect(visible(`rm${point(0x202e)}x${point(0x200b)}y${point(0)}${point(0xe0041)}`)).toBe('rm⟨U+202E⟩x⟨U+200B⟩y⟨U+0000⟩⟨U+E0041⟩');
    // Fillers that are letters, marks of musical notation and of hieroglyphs.
    for (const code of [0xffa0, 0x1d173, 0x13430]) expect(visible(`a${point(code)}b`)).toBe(`a⟨U+${code.toString(16).toUpperCase()}⟩b`);
    expect(visible('a\tb\nüñ 日本 👍')).toBe('a\tb\nüñ 日本 👍');
  });

  it('has nothing that is meant for a terminal', () => {
    const esc = point(0x1b);
    expect(plain(`${esc}[31mred${esc}[0m ${esc}]8;;https://x${point(7)}link${esc}]8;;${esc}\\ ${esc}[2Jdone`)).toBe('red link done');
  });
});
