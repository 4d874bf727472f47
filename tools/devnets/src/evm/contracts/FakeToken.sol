// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Malicious token: chooses its own name, moves nothing, and emits any log on request.
contract FakeToken {
    string public name;
    string public symbol;
    uint256 public decimals;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint256 decimals_, string memory name_, string memory symbol_) {
        decimals = decimals_;
        name = name_;
        symbol = symbol_;
    }

    function balanceOf(address) external pure returns (uint256) {
        return type(uint128).max;
    }

    function transfer(address, uint256) external pure returns (bool) {
        return true;
    }

    function emitTransfer(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    /// ERC-721's Transfer: same first topic, four topics, no data.
    function emitNftTransfer(address from, address to, uint256 tokenId) external {
        bytes32 signature = Transfer.selector;
        assembly {
            log4(0, 0, signature, from, to, tokenId)
        }
    }

    /// Three topics as in ERC-20, but no amount.
    function emitTransferWithoutData(address from, address to) external {
        bytes32 signature = Transfer.selector;
        assembly {
            log3(0, 0, signature, from, to)
        }
    }

    /// All values in the data and none indexed, as early tokens did.
    function emitUnindexedTransfer(address from, address to, uint256 value) external {
        bytes32 signature = Transfer.selector;
        bytes memory data = abi.encode(from, to, value);
        assembly {
            log1(add(data, 32), mload(data), signature)
        }
    }

    function emitTransferWithData(address from, address to, bytes calldata data) external {
        bytes32 signature = Transfer.selector;
        bytes memory copy = data;
        assembly {
            log3(add(copy, 32), mload(copy), signature, from, to)
        }
    }
}
