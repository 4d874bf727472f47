import { describe, expect, it } from 'vitest';
import { markdownOf } from './report.ts';
import { median, quantile, round } from './statistics.ts';

describe('median and quantile', () => {
  it('returns an element of the sorted values', () => {
    expect(median([30, 4, 100])).toBe(30);
    expect(median([4, 3, 2, 1])).toBe(3);
    const hundred = Array.from({ length: 100 }, (_, place) => 100 - place);
    expect([0.5, 0.9, 0.99, 1].map((share) => quantile(hundred, share))).toEqual([50, 90, 99, 100]);
  });

  it('returns NaN without values', () => {
    expect(median([])).toBeNaN();
    expect(quantile([], 0.5)).toBeNaN();
  });
});

it('rounds to the given number of decimals', () => {
  expect([round(1.005), round(12.345, 1), round(1_234.5, 0)]).toEqual([1, 12.3, 1_235]);
});

it('writes a Markdown table', () => {
  const table = { title: 'Orders', columns: ['round', 'per second'], rows: [['1', 1_234.567]] };
  expect(markdownOf(table)).toBe('Orders\n\n| round | per second |\n| --- | --- |\n| 1 | 1,234.57 |\n');
});
