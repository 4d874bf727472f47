import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import { contractOf } from '../coin-type.ts';
import { FRAMEWORK } from './payment-program.ts';
import { decodeTransactionBytes, type TransactionData } from './transaction-bytes.ts';

/** Returns the gathered asset. Undefined unless the wallet is sender, gas payer and only receiver. Pure. */
export function readGathering(
  transaction: Uint8Array,
  wallet: Address,
): { readonly contract: TokenContract | null } | undefined {
  const data = tryDecode(transaction);
  if (
    data?.kind.$kind !== 'ProgrammableTransaction' ||
    data.sender !== wallet ||
    data.gasData.owner !== wallet
  )
    return undefined;
  const { inputs, commands } = data.kind.ProgrammableTransaction;
  const addresses = inputs.flatMap((input) => {
    const bytes = input.$kind === 'Pure' ? Buffer.from(input.Pure.bytes, 'base64') : Buffer.alloc(0);
    return bytes.length === 32 ? [`0x${bytes.toString('hex')}`] : [];
  });
  const sent = commands.flatMap((command) => (command.$kind === 'MoveCall' ? [command.MoveCall] : []));
  const isKnown =
    commands.every(({ $kind }) => ['SplitCoins', 'MergeCoins', 'MoveCall'].includes($kind)) &&
    sent.every(
      (call) => call.package === FRAMEWORK && call.module === 'coin' && call.function === 'send_funds',
    );
  const [coinType, ...others] = new Set(sent.flatMap((call) => call.typeArguments));
  if (!isKnown || coinType === undefined || others.length > 0) return undefined;
  if (addresses.length !== 1 || addresses[0] !== wallet) return undefined;
  return { contract: contractOf(coinType as TokenContract) };
}

function tryDecode(transaction: Uint8Array): TransactionData | undefined {
  try {
    return decodeTransactionBytes(transaction);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
