import { describe, expect, test } from 'vitest';
import { csvLine } from './csv-line.ts';

describe('csvLine', () => {
  test.each([
    [['a', 'b'], 'a,b\r\n'],
    [['a,b', 'say "no"', 'two\nlines'], '"a,b","say ""no""","two\nlines"\r\n'],
    [[null, ''], ',\r\n'],
    [['-12.50', '-3', '12'], '-12.50,-3,12\r\n'],
    [['=1+1', '+1', '-1+2', '@x'], "'=1+1,'+1,'-1+2,'@x\r\n"],
    [['=HYPERLINK("http://x","y")'], '"\'=HYPERLINK(""http://x"",""y"")"\r\n'],
    [['\t=1', ' =1', '\r=1'], "'\t=1,' =1,\"'\r=1\"\r\n"],
  ])('escapes %j', (cells, line) => {
    expect(csvLine(cells)).toBe(line);
  });
});
