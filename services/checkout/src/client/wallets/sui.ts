import { dueAmount, type PayableOrder } from '../../view/checkout-order.ts';
import { isRefusal, type WalletOutcome } from './wallet.ts';

/** The parts of the Wallet Standard that are used here (https://docs.sui.io/standards/wallet-standard). */
export interface SuiWallet {
  readonly name: string;
  readonly icon: string;
  readonly chains: readonly string[];
  readonly accounts: readonly SuiAccount[];
  readonly features: Readonly<Record<string, unknown>>;
}

interface SuiAccount {
  readonly address: string;
  readonly chains: readonly string[];
}

interface Connect {
  connect(): Promise<{
    readonly accounts: readonly SuiAccount[];
    readonly supportedIntents?: readonly string[];
  }>;
}

interface SignAndExecute {
  signAndExecuteTransaction(input: {
    readonly transaction: { toJSON(): Promise<string> };
    readonly account: SuiAccount;
    readonly chain: string;
  }): Promise<{ readonly digest: string }>;
}

const CONNECT = 'standard:connect';
const SIGN_AND_EXECUTE = 'sui:signAndExecuteTransaction';
/** Intent for coins of a given sum, which the wallet selects from its owner's coins. */
const COIN_WITH_BALANCE = 'CoinWithBalance';
const ADDRESS_BYTES = 32;
const U64_BYTES = 8;

/** SUI_TEST may be any chain except the main one. */
function suiChains(order: Pick<PayableOrder, 'chain'>): readonly string[] {
  return order.chain === 'SUI' ? ['sui:mainnet'] : ['sui:testnet', 'sui:devnet', 'sui:localnet'];
}

export function canPaySui(wallet: SuiWallet, order: Pick<PayableOrder, 'chain'>): boolean {
  const { features, chains } = wallet;
  return (
    CONNECT in features &&
    SIGN_AND_EXECUTE in features &&
    suiChains(order).some((chain) => chains.includes(chain))
  );
}

/**
 * Passes the Sui SDK's version 2 JSON; the wallet adds coins and gas. A token uses the intent CoinWithBalance: the page
 * has no node to look up the owner's coins.
 */
export async function payWithSuiWallet(wallet: SuiWallet, order: PayableOrder): Promise<WalletOutcome> {
  const connect = wallet.features[CONNECT] as Connect | undefined;
  const execute = wallet.features[SIGN_AND_EXECUTE] as SignAndExecute | undefined;
  if (connect === undefined || execute === undefined) return { outcome: 'UNABLE' };
  let account: SuiAccount | undefined;
  let chain: string | undefined;
  try {
    const { accounts, supportedIntents } = await connect.connect();
    account = accounts[0] ?? wallet.accounts[0];
    if (account === undefined) return { outcome: 'NOT_READY' };
    const usable: readonly string[] = account.chains;
    chain = suiChains(order).find((each) => usable.includes(each));
    if (chain === undefined) return { outcome: 'WRONG_NETWORK' };
    const needsIntent = !isGasCoin(order);
    if (needsIntent && supportedIntents?.includes(COIN_WITH_BALANCE) !== true) return { outcome: 'UNABLE' };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'NOT_READY' };
  }
  try {
    const json = suiTransferJson(order, account.address);
    const transaction = { toJSON: async () => json };
    const { digest } = await execute.signAndExecuteTransaction({ transaction, account, chain });
    return { outcome: 'SENT', transaction: digest };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'FAILED' };
  }
}

function isGasCoin({ contractAddress }: PayableOrder): boolean {
  return contractAddress === null || /^0x0*2::sui::SUI$/.test(contractAddress);
}

export function suiTransferJson(order: PayableOrder, sender: string): string {
  const { baseUnits } = dueAmount(order);
  const receiver = { Pure: { bytes: toBase64(addressBytes(order.address)) } };
  const give = (place: number, argument: object) => ({
    TransferObjects: { objects: [argument], address: { Input: place } },
  });
  const [inputs, commands] = isGasCoin(order)
    ? [
        [{ Pure: { bytes: toBase64(u64Bytes(baseUnits)) } }, receiver],
        [
          { SplitCoins: { coin: { GasCoin: true }, amounts: [{ Input: 0 }] } },
          give(1, { NestedResult: [0, 0] }),
        ],
      ]
    : [
        [receiver],
        [
          {
            $Intent: {
              name: COIN_WITH_BALANCE,
              inputs: {},
              data: { type: order.contractAddress, balance: String(baseUnits), outputKind: 'coin' },
            },
          },
          give(0, { Result: 0 }),
        ],
      ];
  return JSON.stringify({
    version: 2,
    sender,
    expiration: null,
    gasData: { budget: null, price: null, owner: null, payment: null },
    inputs,
    commands,
  });
}

function addressBytes(address: string): Uint8Array {
  const digits = address.replace(/^0x/, '').padStart(2 * ADDRESS_BYTES, '0');
  return Uint8Array.from({ length: ADDRESS_BYTES }, (_, i) =>
    Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16),
  );
}

/** Little-endian, as in BCS. */
function u64Bytes(value: bigint): Uint8Array {
  return Uint8Array.from({ length: U64_BYTES }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
