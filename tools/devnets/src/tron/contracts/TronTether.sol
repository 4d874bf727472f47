// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Test token that behaves like Tether's contract on TRON, unlike a plain TRC-20: transfer returns false although it
/// succeeds, while transferFrom and approve return true; a fee, with its own event, can reduce the amount that
/// arrives; the black list blocks only senders; destroyBlackFunds changes a balance without a Transfer event; an
/// allowance must be reset to zero before it is changed.
contract TronTether {
    address public owner;
    bool public paused;
    string public name;
    string public symbol;
    uint8 public decimals;
    uint256 public basisPointsRate;
    uint256 public maximumFee;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Issue(uint256 amount);
    event Redeem(uint256 amount);
    event Params(uint256 feeBasisPoints, uint256 maxFee);
    event DestroyedBlackFunds(address indexed blackListedUser, uint256 balance);
    event AddedBlackList(address indexed user);
    event RemovedBlackList(address indexed user);
    event Pause();
    event Unpause();

    modifier onlyOwner() {
        require(msg.sender == owner);
        _;
    }

    modifier whenNotPaused() {
        require(!paused);
        _;
    }

    constructor(string memory name_, string memory symbol_, uint8 decimals_, uint256 supply) {
        owner = msg.sender;
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply; // no Transfer event, as in the original
    }

    function transfer(address to, uint256 value) external whenNotPaused returns (bool) {
        require(!isBlackListed[msg.sender]);
        move(msg.sender, to, value);
        return false; // the original lacks a return statement
    }

    function transferFrom(address from, address to, uint256 value) external whenNotPaused returns (bool) {
        require(!isBlackListed[from]);
        uint256 remaining = allowance[from][msg.sender];
        if (remaining < type(uint256).max) allowance[from][msg.sender] = remaining - value;
        move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external whenNotPaused returns (bool) {
        require(value == 0 || allowance[msg.sender][spender] == 0);
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function move(address from, address to, uint256 value) private {
        require(to != address(0));
        uint256 fee = (value * basisPointsRate) / 10_000;
        if (fee > maximumFee) fee = maximumFee;
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (fee > 0) {
            balanceOf[owner] += fee;
            emit Transfer(from, owner, fee);
        }
    }

    function setParams(uint256 newBasisPoints, uint256 newMaxFee) external onlyOwner {
        require(newBasisPoints < 20 && newMaxFee < 50);
        basisPointsRate = newBasisPoints;
        maximumFee = newMaxFee * 10 ** decimals;
        emit Params(basisPointsRate, maximumFee);
    }

    function pause() external onlyOwner {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyOwner {
        paused = false;
        emit Unpause();
    }

    function addBlackList(address user) external onlyOwner {
        isBlackListed[user] = true;
        emit AddedBlackList(user);
    }

    function removeBlackList(address user) external onlyOwner {
        isBlackListed[user] = false;
        emit RemovedBlackList(user);
    }

    function destroyBlackFunds(address user) external onlyOwner {
        require(isBlackListed[user]);
        uint256 dirty = balanceOf[user];
        balanceOf[user] = 0;
        totalSupply -= dirty;
        emit DestroyedBlackFunds(user, dirty);
    }

    function issue(uint256 amount) external onlyOwner {
        balanceOf[owner] += amount;
        totalSupply += amount;
        emit Issue(amount);
        emit Transfer(address(0), owner, amount);
    }

    function redeem(uint256 amount) external onlyOwner {
        balanceOf[owner] -= amount;
        totalSupply -= amount;
        emit Redeem(amount);
    }
}
