import type { OperationOf, OpsAnswer, OpsInput, OpsOperation } from '@opentill/contracts/ops/catalog';
import type { Tx } from '@opentill/db/database';
import type { Operator } from '@opentill/db/operators';
import type { OutboxEvent } from '@opentill/db/outbox';
import type { Page } from './page.ts';

/** The transaction locks the operator and contains the audit entry. */
export interface Act {
  readonly tx: Tx;
  /** As read in this transaction: enabled, and with a role that permits the act. */
  readonly operator: Operator;
  /** In this transaction's outbox. Lock the event's subject first. */
  emit(event: OutboxEvent): Promise<void>;
}

export interface Done<A> {
  readonly answer: A;
  /** In the audit entry. Default: the first parameter of the path. */
  readonly subject?: string;
  /** Added to the input in the audit entry. */
  readonly details?: Readonly<Record<string, unknown>>;
}

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

export type Handlers = { readonly [O in OperationOf<'READ'>]: ReadHandler<O> } & {
  readonly [O in OperationOf<'LIST'>]: ListHandler<O>;
} & { readonly [O in OperationOf<'ACT'>]: ActHandler<O> } & {
  readonly [O in OperationOf<'EXPORT'>]: ExportHandler<O>;
};
