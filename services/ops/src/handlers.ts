import type { OperationOf, OpsAnswer, OpsInput, OpsOperation } from '@opentill/contracts/ops/catalog';
import type { Tx } from '@opentill/db/database';
import type { Operator } from '@opentill/db/operators';
import type { OutboxEvent } from '@opentill/db/outbox';
import type { Page } from './page.ts';

/** What an act may touch: its transaction, which holds the operator and becomes one with the entry in the audit log. */
export interface Act {
  readonly tx: Tx;
  /** As he is in this transaction; enabled, and of a role that may do it. */
  readonly operator: Operator;
  /** Appends an event to the outbox in this transaction. Lock what it speaks of first. */
  emit(event: OutboxEvent): Promise<void>;
}

/** What was done. */
export interface Done<A> {
  readonly answer: A;
  /** What it was done to. Default: the first parameter of the path. */
  readonly subject?: string;
  /** What the audit log keeps besides what was given. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Rows of a CSV file, some at a time, from one snapshot. */
export type CsvRows = AsyncIterable<readonly (readonly (string | null)[])[]>;

export interface CsvExport {
  readonly fileName: string;
  readonly columns: readonly string[];
  rows(signal: AbortSignal): CsvRows;
}

type Input<O extends OpsOperation> = OpsInput<O>;
export type ReadHandler<O extends OpsOperation> = (
  input: Input<O>,
  operator: Operator,
) => Promise<OpsAnswer<O>>;
export type ListHandler<O extends OpsOperation> = (input: Input<O>) => Promise<Page<OpsAnswer<O>>>;
export type ActHandler<O extends OpsOperation> = (act: Act, input: Input<O>) => Promise<Done<OpsAnswer<O>>>;
export type ExportHandler<O extends OpsOperation> = (input: Input<O>) => CsvExport;

/** One function for each operation of the catalog. */
export type Handlers = { readonly [O in OperationOf<'READ'>]: ReadHandler<O> } & {
  readonly [O in OperationOf<'LIST'>]: ListHandler<O>;
} & { readonly [O in OperationOf<'ACT'>]: ActHandler<O> } & {
  readonly [O in OperationOf<'EXPORT'>]: ExportHandler<O>;
};
