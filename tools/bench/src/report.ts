export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface Run {
  say(line: string): void;
  /** Checks only that a benchmark works. Its figures are meaningless. */
  readonly quick: boolean;
  /** Minutes that `rpc-cost` counts. */
  readonly minutes: number | undefined;
  readonly addresses: number | undefined;
  /** Open orders of `orders`. */
  readonly openOrders: number | undefined;
  /** Profiles of `rpc-cost`. Empty: one deposit a minute, and an order is always open. */
  readonly ordersADay: readonly number[];
}

export type Benchmark = (run: Run) => Promise<readonly Table[]>;

export function markdownOf({ title, columns, rows }: Table): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.map(textOf).join(' | ')} |`;
  return [title, '', line(columns), line(columns.map(() => '---')), ...rows.map(line), ''].join('\n');
}

function textOf(cell: string | number): string {
  return typeof cell === 'string' ? cell : cell.toLocaleString('en', { maximumFractionDigits: 2 });
}
