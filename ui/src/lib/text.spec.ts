import { describe, expect, it } from '@jest/globals';
import { plain, visible, visibleAll } from './text.js';

const point = (code: number): string => String.fromCodePoint(code);

describe('what is shown of a text', () => {
  it('says what cannot be seen', () => {
    expect(visible(`rm${point(0x202e)}x${point(0x200b)}y${point(0)}${point(0xe0041)}`)).toBe('rm⟨U+202E⟩x⟨U+200B⟩y⟨U+0000⟩⟨U+E0041⟩');
    // Fillers that are letters, marks of musical notation and of hieroglyphs.
    for (const code of [0xffa0, 0x1d173, 0x13430]) expect(visible(`a${point(code)}b`)).toBe(`a⟨U+${code.toString(16).toUpperCase()}⟩b`);
    expect(visible('a\tb\nüñ 日本 👍')).toBe('a\tb\nüñ 日本 👍');
  });

  it('leaves emoji whole, and says what stands beside them', () => {
    const [joiner, variation, family] = [point(0x200d), point(0xfe0f), point(0x1f469)];
    for (const whole of [
      `${point(0x26a0)}${variation} careful`,
      `${family}${joiner}${point(0x1f680)}`,
      `${family}${point(0x1f3fd)}${joiner}${point(0x2764)}${variation}${joiner}${family}${point(0x1f3fd)}`,
      `1${variation}${point(0x20e3)}`,
    ])
      expect(visible(whole)).toBe(whole);
    expect(visible(`${family}${joiner}rm${joiner}${family} a${variation} 1${variation}`)).toBe(
      `${family}⟨U+200D⟩rm⟨U+200D⟩${family} a⟨U+FE0F⟩ 1⟨U+FE0F⟩`,
    );
    expect(visible(`${family}${variation}${variation}${joiner}${joiner}${family}`)).toBe(
      `${family}⟨U+FE0F⟩⟨U+FE0F⟩⟨U+200D⟩⟨U+200D⟩${family}`,
    );
    // Nothing that may become an emoji is one, and no two that stand together.
    const [unassigned, rocket] = [point(0x1fc00), point(0x1f680)];
    expect(visible(`${unassigned}${variation}${joiner}${unassigned} ${rocket}${joiner}${rocket}`)).toBe(
      `${unassigned}⟨U+FE0F⟩⟨U+200D⟩${unassigned} ${rocket}⟨U+200D⟩${rocket}`,
    );
  });

  it('says also what joins an emoji where somebody is to allow it', () => {
    const astronaut = [0x1f469, 0x200d, 0x1f680].map(point).join('');
    expect([visible(astronaut), visibleAll(astronaut)]).toEqual([astronaut, `${point(0x1f469)}⟨U+200D⟩${point(0x1f680)}`]);
  });

  it('has nothing that is meant for a terminal', () => {
    const esc = point(0x1b);
    expect(plain(`${esc}[31mred${esc}[0m ${esc}]8;;https://x${point(7)}link${esc}]8;;${esc}\\ ${esc}[2Jdone`)).toBe('red link done');
  });
});
