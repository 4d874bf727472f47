import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { FoundPayment, PaymentIntent } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { transactionRequest } from '../block-requests.ts';
import { decodeInteger, decodeTransaction } from '../decode.ts';
import type { DataFee } from '../data-fee.ts';
import { readFates } from '../read-fates.ts';
import type { EvmSources } from '../sources.ts';
import { encodePayment, TRANSFER_SELECTOR } from './encode-payment.ts';

interface Signed {
  readonly nonce: number;
  readonly intent: PaymentIntent;
}

export async function readPayment(
  sources: EvmSources,
  { txHash, dataFee }: { readonly txHash: TxHash; readonly dataFee: DataFee },
  height: number,
  options: ReadOptions,
): Promise<FoundPayment | undefined> {
  const onSingleSource = (): void => undefined;
  const [first, second] = await askTwoSources(
    sources,
    {
      ask: async (source, own) =>
        signedIn(txHash, (await source.batch([transactionRequest(txHash)], own))[0]),
      height: undefined,
      onSingleSource,
      requireTwoSources: true,
    },
    options,
  );
  const found = first.answer;
  if (second !== undefined && !isSame(found, second.answer))
    throw readerError('INCONSISTENT_ANSWER', 'two sources differ about a transaction', {
      txHash,
      sources: [first.source.label, second.source.label],
    });
  if (found === undefined) return undefined;
  const { fates, disputed } = await readFates(
    { hasStateSync: false, dataFee, onSingleSource },
    sources,
    [{ txHash, ...found.intent }],
    { ...options, atHeight: height, requireTwoSources: true },
  );
  if (disputed.length > 0)
    throw readerError('INCONSISTENT_ANSWER', 'two sources differ about a receipt', { txHash });
  const [fate] = fates;
  return fate === undefined || fate.blockHeight > height ? undefined : { ...found, fate };
}

/** Undefined for a transaction in no block, and for any but a plain payment: coin, or a token's `transfer`. */
function signedIn(txHash: TxHash, raw: unknown): Signed | undefined {
  if (raw === null || typeof raw !== 'object') return undefined;
  const { blockHash, nonce, input } = raw as Record<string, unknown>;
  if (blockHash === null || blockHash === undefined) return undefined;
  const { txHash: found, from, to, valueWei } = decodeTransaction(raw);
  if (found !== txHash)
    throw readerError('INCONSISTENT_ANSWER', 'the node answered another transaction', { txHash });
  const data = typeof input === 'string' ? input.toLowerCase() : '';
  const intent = to === null ? undefined : intentOf(from, to, valueWei, data);
  if (intent === undefined) return undefined;
  // Encoding it again must give the same call, so no data is lost or misread.
  const call = encodePayment(intent);
  const isIt = call.to === to && call.valueWei === valueWei && call.data === data;
  return isIt ? { nonce: decodeInteger(nonce, 'transaction.nonce'), intent } : undefined;
}

const WORD = 64;

function intentOf(from: Address, to: Address, valueWei: bigint, data: string): PaymentIntent | undefined {
  if (data === '0x') return { from, contract: null, to, amountBaseUnits: baseUnits(valueWei) };
  const words = data.slice(TRANSFER_SELECTOR.length);
  if (!data.startsWith(TRANSFER_SELECTOR) || words.length !== 2 * WORD || valueWei !== 0n) return undefined;
  return {
    from,
    contract: to as string as TokenContract,
    to: `0x${words.slice(WORD - 40, WORD)}` as Address,
    amountBaseUnits: baseUnits(BigInt(`0x${words.slice(WORD)}`)),
  };
}

function isSame(a: Signed | undefined, b: Signed | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const { from, contract, to, amountBaseUnits } = b.intent;
  return (
    a.nonce === b.nonce &&
    a.intent.from === from &&
    a.intent.contract === contract &&
    a.intent.to === to &&
    a.intent.amountBaseUnits === amountBaseUnits
  );
}
