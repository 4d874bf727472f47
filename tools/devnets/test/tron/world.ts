import { TronWeb, utils } from 'tronweb';
import {
  startTronDevnet,
  type TronDevnet,
  type TronDevnetOptions,
} from '../../src/tron/start-tron-devnet.ts';

export type Parsed = ReturnType<typeof JSON.parse>;
type Json = Record<string, Parsed>;

/** Devnet without timer, and TronWeb with account 1, which does not own the tokens. */
export interface World {
  readonly devnet: TronDevnet;
  readonly tronWeb: TronWeb;
  ask(path: string, body?: Json): Promise<Json>;
  walletOf(privateKey: string): TronWeb;
  land(transaction: unknown, wallet?: TronWeb): Promise<Json>;
  transferOf(symbol: 'USDT' | 'USDC', to: string, amount: bigint, wallet?: TronWeb): Promise<Json>;
}

export async function startWorld(options: Partial<TronDevnetOptions> = {}): Promise<World> {
  const devnet = await startTronDevnet({ blockTimeMs: 0, ...options });
  const walletOf = (privateKey: string): TronWeb => new TronWeb({ fullHost: devnet.url, privateKey });
  const tronWeb = walletOf(devnet.accounts[1]!.privateKeyHex);
  const ask = async (path: string, body: Json = {}): Promise<Json> => {
    const response = await fetch(`${devnet.url}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    return (await response.json()) as Json;
  };
  return {
    devnet,
    tronWeb,
    ask,
    walletOf,
    async land(transaction, wallet = tronWeb) {
      const signed = await wallet.trx.sign(transaction as never);
      const answer = (await wallet.trx.sendRawTransaction(signed)) as Json;
      if (answer['result'] !== true) return answer;
      await devnet.control.mine();
      return ask('wallet/gettransactioninfobyid', { value: answer['txid'] });
    },
    async transferOf(symbol, to, amount, wallet = tronWeb) {
      const built = await wallet.transactionBuilder.triggerSmartContract(
        devnet.tokens[symbol],
        'transfer(address,uint256)',
        { feeLimit: 100_000_000, txLocal: true } as never,
        [
          { type: 'address', value: to },
          { type: 'uint256', value: amount.toString() },
        ],
        wallet.defaultAddress.base58 as string,
      );
      return built.transaction as Json;
    },
  };
}

export function newAccount(): { address: string; hex: string; privateKey: string } {
  const { address, privateKey } = utils.accounts.generateAccount();
  return { address: address.base58, hex: address.hex.toLowerCase(), privateKey };
}

export function textOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString();
}
