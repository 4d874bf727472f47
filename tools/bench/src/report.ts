/** One table of a benchmark's figures. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** The options of one call of `npm run bench`. */
export interface Run {
  /** Reports progress. */
  say(line: string): void;
  /** Measures little, to show that a benchmark works: the figures mean nothing. */
  readonly quick: boolean;
  /** Duration of `rpc-cost`. */
  readonly minutes: number | undefined;
  /** Deposit addresses in the database of `catch-up`. */
  readonly addresses: number | undefined;
}

export type Benchmark = (run: Run) => Promise<readonly Table[]>;

/** The table in Markdown. */
export function markdownOf({ title, columns, rows }: Table): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.map(textOf).join(' | ')} |`;
  return [title, '', line(columns), line(columns.map(() => '---')), ...rows.map(line), ''].join('\n');
}

function textOf(cell: string | number): string {
  return typeof cell === 'string' ? cell : cell.toLocaleString('en', { maximumFractionDigits: 2 });
}
