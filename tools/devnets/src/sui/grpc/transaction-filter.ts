import type { GrpcTypes } from '@mysten/sui/grpc';
import { normalizeSuiAddress } from '@mysten/sui/utils';
import { addressOfOwner } from '../chain/object.ts';
import { refuse } from '../chain/refusal.ts';
import type { ObjectChange, TransactionRecord } from '../chain/transaction.ts';

const MOST_LITERALS = 10;

export type TransactionMatcher = (record: TransactionRecord) => boolean;

/** Matches if all literals of any term match. Undefined matches everything. Throws GatewayError<RefusalCode>. */
export function readFilter(filter: GrpcTypes.TransactionFilter | undefined): TransactionMatcher | undefined {
  if (filter === undefined) return undefined;
  const literals = filter.terms.reduce((sum, term) => sum + term.literals.length, 0);
  if (literals > MOST_LITERALS) {
    refuse('INVALID_ARGUMENT', `filter has ${literals} literals, the maximum is ${MOST_LITERALS}`);
  }
  if (filter.terms.length === 0 || filter.terms.some((term) => term.literals.length === 0)) {
    refuse('INVALID_ARGUMENT', 'a filter needs terms, and a term literals');
  }
  const terms = filter.terms.map((term) =>
    term.literals.map(({ predicate, negated }) => {
      const matches = readPredicate(predicate);
      return (record: TransactionRecord) => matches(record) !== negated;
    }),
  );
  return (record) => terms.some((all) => all.every((holds) => holds(record)));
}

type Predicate = GrpcTypes.TransactionFilter['terms'][number]['literals'][number]['predicate'];

function readPredicate(predicate: Predicate): TransactionMatcher {
  switch (predicate.oneofKind) {
    case 'sender': {
      const address = normalizeSuiAddress(predicate.sender.address ?? '');
      return ({ data }) => data.sender === address;
    }
    case 'affectedAddress': {
      const address = normalizeSuiAddress(predicate.affectedAddress.address ?? '');
      return ({ data, outcome }) =>
        data.sender === address || outcome.changes.some((change) => concerns(change, address));
    }
    case 'affectedObject': {
      const objectId = normalizeSuiAddress(predicate.affectedObject.objectId ?? '');
      return ({ outcome }) => outcome.changes.some(({ id }) => id === objectId);
    }
    default:
      return refuse('UNIMPLEMENTED', `unsupported filter ${predicate.oneofKind ?? ''}`);
  }
}

function concerns(change: ObjectChange, address: string): boolean {
  if (change.kind === 'funds') return change.address === address;
  const before = change.kind === 'created' ? undefined : addressOfOwner(change.before.owner);
  const after = change.kind === 'deleted' ? undefined : addressOfOwner(change.after.owner);
  return before === address || after === address;
}
