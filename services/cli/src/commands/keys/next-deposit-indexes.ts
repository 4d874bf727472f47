import { FAMILIES, type Family } from '@opentill/domain/chains';
import { usage, type CliContext } from '../../context.ts';
import { readNextIndexes } from '../../store/deposit-indexes.ts';
import { withOpsDatabase } from '../../open-database.ts';

/** Next index of each family: any address below it may have been given to a payer. */
export type DepositMarks = ReadonlyMap<Family, number>;

/** BIP-32: indexes are below 2^31. */
const INDEX_END = 2 ** 31;
const MARK = /^(?<family>[A-Z]+)=(?<next>[0-9]{1,10})$/;

/** Parses texts such as `EVM=1200`. Throws CLI_USAGE. */
export function parseMarks(texts: readonly string[]): DepositMarks {
  return new Map(
    texts.map((text) => {
      const { family = '', next = '' } = MARK.exec(text)?.groups ?? {};
      const known = FAMILIES.find((candidate) => candidate === family);
      if (known !== undefined && Number(next) <= INDEX_END) return [known, Number(next)] as const;
      const message = `--mark must be a family and its next index, like EVM=1200, not ${text}.`;
      throw usage(message);
    }),
  );
}

export function readMarks(context: CliContext): Promise<DepositMarks> {
  return withOpsDatabase(context, readNextIndexes);
}
