import { Interface, type InterfaceAbi } from 'ethers';
import tronMulti from './artifacts/TronMulti.json' with { type: 'json' };
import tronTether from './artifacts/TronTether.json' with { type: 'json' };

const ARTIFACTS = { TronMulti: tronMulti, TronTether: tronTether };

export type TronContractName = keyof typeof ARTIFACTS;

/** ABI and creation code (hex without 0x) for TronWeb's createSmartContract. */
export function tronArtifact(name: TronContractName): { readonly abi: object[]; readonly bytecode: string } {
  const { abi, bytecode } = ARTIFACTS[name];
  return { abi, bytecode: bytecode.slice(2) };
}

const interfaces = new Map<TronContractName, Interface>();

/** Parses each ABI once: that takes longer than encoding a call, of which a genesis has dozens. */
export function tronContractInterface(name: TronContractName): Interface {
  const known = interfaces.get(name);
  if (known !== undefined) return known;
  const parsed = new Interface(ARTIFACTS[name].abi as InterfaceAbi);
  interfaces.set(name, parsed);
  return parsed;
}

export function tronCreationCode(
  name: TronContractName,
  constructorArguments: readonly unknown[],
): Uint8Array {
  const encoded = tronContractInterface(name).encodeDeploy(constructorArguments).slice(2);
  return new Uint8Array(Buffer.from(ARTIFACTS[name].bytecode.slice(2) + encoded, 'hex'));
}

/** Call data of `transfer(address,uint256)`; `to` has 21 bytes. */
export function transferData(to: Uint8Array, amountBaseUnits: bigint): Uint8Array {
  const receiver = `0x${Buffer.from(to.subarray(1)).toString('hex')}`;
  const data = tronContractInterface('TronTether').encodeFunctionData('transfer', [
    receiver,
    amountBaseUnits,
  ]);
  return new Uint8Array(Buffer.from(data.slice(2), 'hex'));
}
